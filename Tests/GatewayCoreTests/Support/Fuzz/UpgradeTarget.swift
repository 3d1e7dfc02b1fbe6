@testable import GatewayCore

/// What a server answers to a WebSocket upgrade. However it is cut, the outcome is the same.
enum UpgradeTarget {
  static func problem(with input: [UInt8]) -> String? {
    guard let seed = input.first else { return nil }
    let answer = Array(input[1...])
    let whole = outcome([answer])
    guard whole == outcome(answer.map { [$0] }) else { return "the outcome differs byte by byte" }
    let middle = Int(seed) % (answer.count + 1)
    guard whole == outcome([Array(answer[..<middle]), Array(answer[middle...])]) else {
      return "the outcome differs when cut"
    }
    if case .upgraded(let consumed) = whole, consumed > answer.count { return "more was consumed than there was" }
    var late = WebSocketUpgrade.lateResponse()
    if case .upgraded = late.receive(answer.span.bytes) { return "a late response was taken for an agreement" }
    return nil
  }

  /// With offsets from the beginning of the answer; an answer that is not complete ends with the connection.
  private static func outcome(_ pieces: [[UInt8]]) -> WebSocketUpgrade.Outcome {
    var request = DialRequest(
      secure: false, host: "h", port: 80, target: "/", headers: [], tls: TLSSettings(), phaseLimit: .seconds(1),
      messageLimit: 1)
    request.compressionThreshold = 1_024
    var upgrade = WebSocketUpgrade(request: request, key: "key", expectedAccept: "accept")
    var taken = 0
    for piece in pieces {
      switch upgrade.receive(piece.span.bytes) {
      case .needMore: taken += piece.count
      case .upgraded(let consumed): return .upgraded(consumed: taken + consumed)
      case .failed(let failure): return .failed(failure)
      }
    }
    return .failed(upgrade.ended())
  }
}
