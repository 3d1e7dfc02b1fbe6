extension Setting<PlainWebSocketSettings> {
  static var declared: [Self] {
    [
      Setting(
        "subprotocols", \.subprotocols, SettingType<[String]>.subprotocols,
        "`raw+ws://`, `raw+wss://`: WebSocket subprotocols that are offered, the preferred one first. The server has to choose one of them; `[]` offers none."
      )
    ]
  }
}

extension SettingType<[String]> {
  /// Names as RFC 6455 section 4.1 has them, at most sixteen.
  static var subprotocols: Self {
    let expectation = "a list of at most 16 subprotocols such as \"chat.v1\""
    return Self(
      "list",
      read: { (node) throws(SettingFindings) in
        guard case .array(let nodes) = node.value, nodes.count <= 16 else {
          throw SettingFindings(expected: expectation, found: node)
        }
        return try nodes.isEmpty
          ? [] : node.elements(of: .text("text", expected: expectation, where: isToken), expected: expectation)
      },
      write: { "[" + $0.map(\.tomlString).joined(separator: ", ") + "]" })
  }

  private static let isToken: @Sendable (String) -> Bool = { text in
    (1...128).contains(text.utf8.count)
      && text.utf8.allSatisfy { $0.isASCIILetterOrDigit || "!#$%&'*+-.^_`|~".utf8.contains($0) }
  }
}
