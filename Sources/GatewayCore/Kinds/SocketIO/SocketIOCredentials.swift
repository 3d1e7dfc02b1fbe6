/// The auth payload of a CONNECT packet: a JSON object, or nothing. Secret.
enum SocketIOCredentials {
  /// The name of a namespace as a CONNECT of revision 3 has it: with the query that it is configured with, and the
  /// payload as another. Nil where that cannot be one.
  static func name(_ namespace: [UInt8], query: String?, _ payload: [UInt8]?) -> [UInt8]? {
    var parts = query.map { [$0] } ?? []
    if let payload {
      guard let own = Self.query(payload) else { return nil }
      if !own.isEmpty { parts.append(own) }
    }
    return parts.isEmpty ? namespace : namespace + [UInt8](("?" + parts.joined(separator: "&")).utf8)
  }

  /// The payload as a query, for servers of Engine.IO revision 3, whose namespaces take no other. Nil when a value is
  /// neither text, nor number, nor boolean; `null` is left out.
  static func query(_ payload: [UInt8]) -> String? {
    guard let members = (try? JSONValue.parse(payload.span.bytes, limit: .max))?.members else { return nil }
    var pairs: [String] = []
    for member in members {
      let value: String
      switch member.value {
      case .null: continue
      case .bool(let flag): value = flag ? "true" : "false"
      case .number(let text), .string(let text): value = text
      case .array, .object: return nil
      }
      pairs.append(PercentEncoding.component(member.key) + "=" + PercentEncoding.component(value))
    }
    return pairs.joined(separator: "&")
  }
}
