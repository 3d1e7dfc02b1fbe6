import GatewayCore

/// One line from the daemon, taken apart. Byte arrays hold raw JSON text, exactly as the daemon wrote it.
enum Message: Equatable, Sendable {
  /// The answer to the call with this id; nil where the daemon could not tell which call was meant.
  case result(id: Int?, [UInt8])
  case failure(id: Int?, DaemonError)
  /// The raw `params` object.
  case notification(method: String, [UInt8])

  /// Nil: this is no line of the local protocol.
  static func parse(_ line: [UInt8]) -> Message? {
    guard let members = RawJSONObject(line) else { return nil }
    if let method = members.string("method") {
      return .notification(method: method, members["params"] ?? Array("{}".utf8))
    }
    let id = members.integer("id").flatMap { Int($0) }
    if let result = members["result"] { return .result(id: id, result) }
    guard let error = members["error"], let failure = DaemonError(error) else { return nil }
    return .failure(id: id, failure)
  }
}
