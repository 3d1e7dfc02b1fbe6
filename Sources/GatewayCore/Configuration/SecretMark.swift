/// Marks a setting whose value may be a secret that stands in the configuration file itself.
struct SecretMark: Sendable {
  /// What keeps the secret out of the file; nil when nothing does.
  let instead: String?
  /// Whether the value holds one.
  let isHeld: @Sendable (ConfigurationNode) -> Bool

  init(instead: String? = nil, isHeld: @escaping @Sendable (ConfigurationNode) -> Bool = { _ in true }) {
    self.instead = instead
    self.isHeld = isHeld
  }

  /// The values of headers and query parameters that are not read from elsewhere.
  static let members = SecretMark(instead: "{ file = \"…\" } as the value") { node in
    node.entries?.contains { $0.node.entries == nil } ?? false
  }

  /// A URL with a user and a password.
  static let login = SecretMark(instead: "proxy_password_file", isHeld: { hasPassword($0) })

  /// A URL, or one of several, with a password or a query.
  static let address = SecretMark { node in
    guard case .array(let nodes) = node.value else { return hasPassword(node) || hasQuery(node) }
    return nodes.contains { hasPassword($0) || hasQuery($0) }
  }

  /// RFC 3986 section 3.2.1: between the scheme and an `@` before the path.
  private static func hasPassword(_ node: ConfigurationNode) -> Bool {
    guard case .string(let text) = node.value, let mark = text.firstRange(of: "://") else { return false }
    let authority = text[mark.upperBound...].prefix { !"/?#".contains($0) }
    guard let at = authority.lastIndex(of: "@") else { return false }
    return authority[..<at].contains(":")
  }

  private static func hasQuery(_ node: ConfigurationNode) -> Bool {
    guard case .string(let text) = node.value else { return false }
    return text.prefix { $0 != "#" }.contains("?")
  }
}
