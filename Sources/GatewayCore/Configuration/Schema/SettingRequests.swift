/// `headers = { … }`: values that stand there, and values that are read at each connect.
struct HeaderTable: Sendable {
  var headers: [HTTPHeader] = []
  var sources: [SecretMember] = []
}

/// `query = { … }`, in the same way.
struct QueryTable: Sendable {
  var items: [QueryItem] = []
  var sources: [SecretMember] = []
}

/// Where the values of headers and query parameters may come from.
enum MemberOrigin: Sendable {
  /// They stand there, or are read at each connect.
  case anywhere
  /// They stand there.
  case place

  /// Completes the sentence "the value must be …".
  fileprivate var expectation: String { self == .anywhere ? "a string or a table" : "a string" }
}

extension UpstreamSettings {
  var headerTable: HeaderTable {
    get { HeaderTable(headers: headers, sources: headerSources) }
    set { (headers, headerSources) = (newValue.headers, newValue.sources) }
  }

  var queryTable: QueryTable {
    get { QueryTable(items: query, sources: querySources) }
    set { (query, querySources) = (newValue.items, newValue.sources) }
  }
}

extension SettingType<HeaderTable> {
  /// Headers that the handshake itself writes, or that belong to one hop only (RFC 9110 section 7.6.1, RFC 6455
  /// section 4.1), in lower case.
  private static var reserved: Set<String> {
    [
      "host", "connection", "upgrade", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding",
      "content-length", "expect",
    ]
  }

  /// A table of header names and values. Values may be secrets and are in no message.
  static func headers(from origin: MemberOrigin = .anywhere) -> Self {
    Self(
      "table", secret: .members,
      read: { (node) throws(SettingFindings) in
        var table = HeaderTable()
        var names: Set<String> = []
        try node.members(expected: "a table of headers") { (name, value) throws(SettingFindings) in
          try check(name, value, against: &names)
          if origin == .anywhere, let member = try SecretMember.read(name, value) {
            return table.sources.append(member)
          }
          let text = try value.text(expected: origin.expectation, member: name)
          guard text.isFieldText else {
            throw SettingFindings("must not hold a line break or another control character", at: value, member: name)
          }
          table.headers.append(HTTPHeader(name: name, value: text))
        }
        return table
      },
      write: { table in inlineTable(table.headers.map { ($0.name, $0.value) }, table.sources) })
  }

  private static func check(_ name: String, _ value: ConfigurationNode, against others: inout Set<String>)
    throws(SettingFindings)
  {
    let folded = name.lowercased()
    guard !name.isEmpty, name.utf8.allSatisfy(\.isHTTPTokenCharacter) else {
      throw SettingFindings("is not the name of a header", at: value, member: name)
    }
    guard !reserved.contains(folded), !folded.hasPrefix("sec-websocket-") else {
      throw SettingFindings("is a header that the connection itself sets", at: value, member: name)
    }
    guard others.insert(folded).inserted else {
      throw SettingFindings("is a header that stands here already in other letters", at: value, member: name)
    }
  }
}

extension SettingType<QueryTable> {
  /// A table of query names and values, sorted by name. Values may be secrets and are in no message.
  static func query(from origin: MemberOrigin = .anywhere) -> Self {
    Self(
      "table", secret: .members,
      read: { (node) throws(SettingFindings) in
        var table = QueryTable()
        try node.members(expected: "a table of query parameters") { (name, value) throws(SettingFindings) in
          guard !name.isEmpty else { throw SettingFindings("must not have a parameter without a name", at: value) }
          if origin == .anywhere, let member = try SecretMember.read(name, value) {
            return table.sources.append(member)
          }
          table.items.append(
            QueryItem(name: name, value: try value.text(expected: origin.expectation, member: name)))
        }
        table.items.sort { $0.name < $1.name }
        table.sources.sort { $0.name < $1.name }
        return table
      },
      write: { table in inlineTable(table.items.map { ($0.name, $0.value) }, table.sources) })
  }
}

extension QueryItem {
  /// Parameters that belong to the handshake of Engine.IO: protocol revision, transport, session, cache buster, JSONP
  /// index and base64 mode.
  static var reservedNames: Set<String> { ["EIO", "transport", "sid", "t", "j", "b64"] }
}

/// TOML text of a table in one line.
private func inlineTable(_ members: [(String, String)], _ sources: [SecretMember]) -> String {
  let texts =
    members.map { "\($0.0.tomlString) = \($0.1.tomlString)" } + sources.map { "\($0.name.tomlString) = \($0.tomlText)" }
  return texts.isEmpty ? "{}" : "{ " + texts.joined(separator: ", ") + " }"
}

extension ConfigurationNode {
  /// Hands out the members of a table and gathers the findings about them.
  fileprivate func members(
    expected expectation: String, _ body: (String, ConfigurationNode) throws(SettingFindings) -> Void
  ) throws(SettingFindings) {
    guard let entries else { throw SettingFindings(expected: expectation, found: self) }
    var findings: [SettingFindings.Finding] = []
    for entry in entries {
      do throws(SettingFindings) { try body(entry.key, entry.node) } catch { findings += error.all }
    }
    guard findings.isEmpty else { throw SettingFindings(findings) }
  }
}

extension UInt8 {
  /// `tchar` of RFC 9110 section 5.6.2.
  fileprivate var isHTTPTokenCharacter: Bool { isASCIILetterOrDigit || "!#$%&'*+-.^_`|~".utf8.contains(self) }
}

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
