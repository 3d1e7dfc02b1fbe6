extension SettingType<ProxySettings.Choice> {
  /// The URL of a proxy, which may hold a password and therefore is in no message; or `none`.
  static var proxy: Self {
    Self(
      "URL or `none`", secret: .login,
      read: { (node) throws(SettingFindings) in
        let text = try node.text(expected: "the URL of a proxy, or \"none\"")
        guard !text.isEmpty, text != "none" else { return .none }
        do throws(URLProblem) { return .server(try ProxyServer(parsing: text)) } catch {
          throw SettingFindings("cannot be used: \(error.message)", at: node)
        }
      },
      write: { choice in
        switch choice {
        case .environment: nil
        case .none: "none".tomlString
        case .server(let server): server.urlText.tomlString
        }
      })
  }
}

extension SettingType<[String]?> {
  /// Hosts that no proxy is used for.
  static var exceptions: Self {
    list(expected: "a list of names, addresses and networks, or \"*\"") { text in
      (1...253).contains(text.utf8.count)
        && text.utf8.allSatisfy { $0.isASCIILetterOrDigit || "-_.:/*[]".utf8.contains($0) }
    }
  }

  private static func list(expected expectation: String, where isValid: @escaping @Sendable (String) -> Bool) -> Self {
    Self(
      "list",
      read: { (node) throws(SettingFindings) in
        guard case .array(let nodes) = node.value else { throw SettingFindings(expected: expectation, found: node) }
        return try nodes.isEmpty
          ? [] : node.elements(of: .text("text", expected: expectation, where: isValid), expected: expectation)
      },
      write: { $0.map { "[" + $0.map(\.tomlString).joined(separator: ", ") + "]" } })
  }
}

extension SettingType<[String]> {
  /// One URL, or a list of at most eight. They may hold secrets and are in no message.
  static var urls: Self {
    Self(
      "URL or list of URLs", secret: .address,
      read: { (node) throws(SettingFindings) in
        guard case .array(let nodes) = node.value else { return [try node.text(expected: "a URL")] }
        guard (1...8).contains(nodes.count) else {
          throw SettingFindings("must be 1 to 8 URLs, not \(nodes.count)", at: node)
        }
        return try node.elements(of: .url, expected: "a list of URLs")
      },
      write: { urls in
        urls.count == 1 ? urls.first?.tomlString : "[" + urls.map(\.tomlString).joined(separator: ", ") + "]"
      })
  }

  /// Hashes of public keys as libcurl takes them: `sha256//` and 32 bytes in base64.
  static var pins: Self {
    let expectation = "a list of hashes such as \"sha256//YhKJKSzoTt2b5FP18fvpHo7fJYqQCjAa3HWY3tvRMwE=\""
    return Self(
      "list",
      read: { (node) throws(SettingFindings) in
        guard case .array(let nodes) = node.value else { throw SettingFindings(expected: expectation, found: node) }
        return try nodes.isEmpty
          ? [] : node.elements(of: .text("text", expected: expectation, where: isPin), expected: expectation)
      },
      write: { "[" + $0.map(\.tomlString).joined(separator: ", ") + "]" })
  }

  private static let isPin: @Sendable (String) -> Bool = { text in
    let hash = text.dropFirst(8)
    return text.hasPrefix("sha256//") && hash.utf8.count == 44 && hash.hasSuffix("=")
      && hash.dropLast().utf8.allSatisfy {
        $0.isASCIILetterOrDigit || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "/")
      }
  }
}

extension SettingType<String> {
  /// Text that is in no message.
  static var secret: Self {
    Self(
      "text", secret: SecretMark(instead: "tls.key_password_file"),
      read: { (node) throws(SettingFindings) in
        let text = try node.text()
        guard !text.isEmpty, !text.utf8.contains(0) else {
          throw SettingFindings("must not be empty and must hold no zero byte", at: node)
        }
        return text
      },
      write: { $0.tomlString })
  }
}
