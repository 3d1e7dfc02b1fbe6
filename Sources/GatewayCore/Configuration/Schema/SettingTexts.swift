extension SettingType<String> {
  /// A string that passes a test; the expectation completes `must be …`.
  static func text(
    _ label: String, expected expectation: String, where isValid: @escaping @Sendable (String) -> Bool
  ) -> Self {
    Self(
      label,
      read: { (node) throws(SettingFindings) in
        let text = try node.text(expected: expectation)
        guard isValid(text) else {
          throw SettingFindings("must be \(expectation), not \(text.tomlString)", at: node)
        }
        return text
      },
      write: { $0.tomlString })
  }

  /// An absolute path of at most `limit` bytes.
  static func path(limit: Int = 4_095) -> Self {
    text("path", expected: "an absolute path of at most \(limit) bytes") {
      $0.hasPrefix("/") && $0.utf8.count <= limit && $0.isPrintable
    }
  }

  /// The path of an HTTP request, RFC 3986 section 3.3, with its percent-encoding.
  static var requestPath: Self {
    text("text", expected: "the path of a request such as \"/socket.io/\"") {
      $0.hasPrefix("/") && $0.utf8.allSatisfy { (0x21...0x7e).contains($0) }
        && !$0.contains { "?#\"<>\\^`{|}".contains($0) }
    }
  }

  /// A host's name without port, RFC 1123 section 2.1.
  static var hostName: Self {
    text("text", expected: "the name of a host such as \"chat.example.com\"") {
      (1...253).contains($0.utf8.count)
        && $0.utf8.allSatisfy { $0.isASCIILetterOrDigit || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") }
    }
  }

  /// The name of a member of a JSON object.
  static var memberName: Self {
    text("text", expected: "a name of 1 to 64 bytes") { (1...64).contains($0.utf8.count) && $0.isPrintable }
  }

  /// The name of an event.
  static var eventName: Self {
    text("text", expected: "the name of an event, 1 to 256 bytes") {
      (1...256).contains($0.utf8.count) && $0.isPrintable
    }
  }

  /// The name or number of a group.
  static var groupName: Self {
    text("text", expected: "the name or number of a group") { !$0.isEmpty && $0.isPrintable }
  }

  /// Text that may hold a secret and therefore is in no message; judged by the setting's reader.
  static var url: Self {
    Self(
      "URL", read: { (node) throws(SettingFindings) in try node.text(expected: "a URL") },
      write: { $0.tomlString })
  }
}

extension SettingType<CertificateAuthorities> {
  private static var textExpectation: String { "the text of a PEM file with certificates" }

  /// A PEM file, by its path or by its text.
  static var authorities: Self {
    let path = SettingType<String>.path()
    return Self(
      "path or PEM text",
      read: { (node) throws(SettingFindings) in
        if case .string(let text) = node.value, let authorities = text.pemAuthorities { return authorities }
        return .file(try path.read(node))
      },
      write: { ($0.path ?? $0.text)?.tomlString })
  }

  /// The text alone, for what a program may say that may not read every file.
  static var authorityText: Self {
    Self(
      "PEM text",
      read: { (node) throws(SettingFindings) in
        let text = try node.text(expected: textExpectation)
        guard let authorities = text.pemAuthorities else {
          throw SettingFindings("must be \(textExpectation), and not its path or anything else", at: node)
        }
        return authorities
      },
      write: { $0.text?.tomlString })
  }
}

extension String {
  /// RFC 7468 section 5.1. Nil for what holds no certificate in this form.
  fileprivate var pemAuthorities: CertificateAuthorities? {
    let isText = unicodeScalars.allSatisfy {
      $0.value >= 0x20 && $0.value != 0x7f || "\n\r\t".unicodeScalars.contains($0)
    }
    guard isText, let start = firstRange(ofText: "-----BEGIN CERTIFICATE-----") else { return nil }
    return self[start.upperBound...].firstRange(ofText: "-----END CERTIFICATE-----") == nil ? nil : .text(self)
  }
}

extension SettingType<ListenAddress> {
  /// Where a server listens.
  static var address: Self {
    let expectation = "an address with a port such as \"127.0.0.1:9817\", or an absolute path of at most 107 bytes"
    return Self(
      "address or path",
      read: { (node) throws(SettingFindings) in
        let text = try node.text(expected: expectation)
        guard let address = ListenAddress(text) else {
          throw SettingFindings("must be \(expectation), not \(text.tomlString)", at: node)
        }
        return address
      },
      write: { $0.text.tomlString })
  }
}

extension SettingType where Value: RawRepresentable & CaseIterable & Equatable, Value.RawValue == String {
  private static var names: String { Value.allCases.map(\.rawValue.tomlString).joined(separator: ", ") }

  /// One of the cases' names.
  static var choice: Self {
    Self(
      "one of \(names)",
      read: { (node) throws(SettingFindings) in
        let text = try node.text(expected: "one of \(names)")
        guard let value = Value(rawValue: text) else {
          throw SettingFindings("must be one of \(names), not \(text.tomlString)", at: node)
        }
        return value
      },
      write: { $0.rawValue.tomlString })
  }

  /// At least one of the cases' names, none of them twice.
  static var choices: SettingType<[Value]> {
    SettingType<[Value]>(
      "list of \(names)",
      read: { (node) throws(SettingFindings) in
        let values = try node.elements(of: choice, expected: "a list of \(names)")
        for (index, value) in values.enumerated() where values[..<index].contains(value) {
          throw SettingFindings("must name \(value.rawValue.tomlString) only once", at: node)
        }
        return values
      },
      write: { values in "[" + values.map(\.rawValue.tomlString).joined(separator: ", ") + "]" })
  }
}

extension ConfigurationNode {
  /// The elements of a list that is not empty; every one that cannot be read is a finding of its own.
  func elements<Element>(of type: SettingType<Element>, expected expectation: String) throws(SettingFindings)
    -> [Element]
  {
    guard case .array(let nodes) = value else { throw SettingFindings(expected: expectation, found: self) }
    guard !nodes.isEmpty else { throw SettingFindings("must be \(expectation), not an empty one", at: self) }
    var elements: [Element] = []
    var findings: [SettingFindings.Finding] = []
    for node in nodes {
      do throws(SettingFindings) { elements.append(try type.read(node)) } catch { findings += error.all }
    }
    guard findings.isEmpty else { throw SettingFindings(findings) }
    return elements
  }
}

extension String {
  /// Without control characters.
  var isPrintable: Bool { unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f } }
}
