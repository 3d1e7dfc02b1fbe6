/// What happens on any kind of link, as people read it. Payloads are counted, never quoted.
enum TraceDescription {
  /// `OPEN websocket, TLSv1.3, verified`.
  static func opened(_ facts: TransportFacts) -> String {
    let tls = facts.tlsVersion.map { ", \($0)" + (facts.verified ? ", verified" : ", NOT verified") } ?? ""
    return "OPEN \(facts.name)\(tls)" + (facts.subprotocol.map { ", \($0)" } ?? "")
  }

  /// `closed: the server closed the link (1001)`.
  static func failure(_ failure: UpstreamFailure) -> String {
    "\(failure.reason.rawValue): \(failure.detail)" + (failure.status.map { " (\($0))" } ?? "")
  }

  /// `2 args, 58 bytes`.
  static func sizes(_ arguments: Int, bytes: Int) -> String {
    "\(arguments) \(arguments == 1 ? "arg" : "args"), \(bytes) bytes"
  }

  /// Longest name of an event that is shown whole, in bytes.
  static let nameLimit = 128

  /// A name that the other side chose: long ones are cut.
  static func name(_ name: String) -> String { name.shortened(to: nameLimit) }
}
