@testable import GatewayCore

/// What a server sends as WebSocket frames. However it is cut, the same comes out, and never more than was allowed.
enum FramesTarget {
  private struct Outcome: Equatable {
    var items: [FrameReader.Item] = []
    var payloads: [[UInt8]] = []
    var problem: FrameReader.Problem?
  }

  private static let limit = 512

  static func problem(with input: [UInt8]) -> String? {
    guard let seed = input.first else { return nil }
    let bytes = Array(input[1...])
    let compression = seed & 1 == 1
    let whole = outcome([bytes], compression)
    guard whole == outcome(bytes.map { [$0] }, compression) else { return "the outcome differs byte by byte" }
    let middle = Int(seed >> 1) % (bytes.count + 1)
    guard whole == outcome([Array(bytes[..<middle]), Array(bytes[middle...])], compression) else {
      return "the outcome differs when cut"
    }
    for (item, payload) in zip(whole.items, whole.payloads) {
      switch item {
      case .message(_, isCompressed: false): if payload.count > limit { return "a message is beyond the limit" }
      case .message(_, isCompressed: true): if !compression { return "a message is compressed without an agreement" }
      case .part: return "a message is long below the limit"
      case .ping, .pong, .close: if payload.count > 125 { return "a control frame is too long" }
      }
    }
    return nil
  }

  private static func outcome(_ pieces: [[UInt8]], _ compression: Bool) -> Outcome {
    let reader = FrameReader(messageLimit: limit, allowsCompression: compression)
    var outcome = Outcome()
    for piece in pieces where outcome.problem == nil {
      let result = piece.withUnsafeBytes { bytes in
        Result { () throws(FrameReader.Problem) in
          try reader.receive(bytes) { item, payload in
            outcome.items.append(item)
            outcome.payloads.append([UInt8](payload))
            return true
          }
        }
      }
      if case .failure(let problem) = result { outcome.problem = problem }
    }
    return outcome
  }
}
