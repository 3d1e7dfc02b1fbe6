import Testing

@testable import GatewayCore

/// What a decoder makes of one message.
private enum Step: Equatable {
  case packet
  case waiting
  case message(attachments: [[UInt8]])
  case problem(SocketIOProblem)
}

private enum Input {
  case text(String)
  case binary([UInt8])
}

private func run(_ inputs: [Input], attachmentLimit: Int = 10, byteLimit: Int = 1_000) -> [Step] {
  var decoder = SocketIODecoder(attachmentLimit: attachmentLimit, byteLimit: byteLimit)
  return inputs.map { input in
    do throws(SocketIOProblem) {
      switch input {
      case .text(let text):
        let bytes = [UInt8](text.utf8)
        let packet = try decoder.read(text: bytes.span.bytes, from: 0)
        return decoder.take(packet, bytes.span.bytes) == nil ? .waiting : .packet
      case .binary(let bytes):
        return try decoder.receive(binary: bytes.span.bytes).map { .message(attachments: $0.attachments) } ?? .waiting
      }
    } catch { return .problem(error) }
  }
}

@Test func attachmentsAreCollectedInOrder() {
  #expect(
    run([.text(#"53-["a"]"#), .binary([1]), .binary([]), .binary([2, 3]), .text(#"2["b"]"#)])
      == [.waiting, .waiting, .waiting, .message(attachments: [[1], [], [2, 3]]), .packet])
}

@Test func messagesOutOfPlaceAreRefused() {
  #expect(run([.binary([1])]) == [.problem(.strayAttachment)])
  #expect(run([.text(#"2["a"]"#), .binary([1])]) == [.packet, .problem(.strayAttachment)])
  #expect(run([.text(#"50-["a"]"#), .binary([1])]) == [.packet, .problem(.strayAttachment)])
  #expect(
    run([.text(#"52-["a"]"#), .binary([1]), .text(#"2["b"]"#)]) == [.waiting, .waiting, .problem(.missingAttachment)])
  #expect(run([.text(#"51-["a"]"#), .text(#"51-["a"]"#)]) == [.waiting, .problem(.missingAttachment)])
}

@Test func attachmentsOfAnEventThatCannotBeShownAreAwaitedAndNotKept() {
  #expect(
    run([.text(#"52-["a",]"#), .binary([1]), .binary([2]), .text(#"2["b"]"#)])
      == [.waiting, .waiting, .message(attachments: []), .packet])
}

@Test func attachmentsAreLimitedInNumberAndSize() {
  #expect(run([.text(#"53-["a"]"#)], attachmentLimit: 2) == [.problem(.tooManyAttachments(limit: 2))])
  #expect(run([.text(#"52-["a"]"#)], attachmentLimit: 2) == [.waiting])
  let head = Input.text(#"52-["a"]"#)
  let room = 1_000 - 8
  #expect(
    run([head, .binary([UInt8](repeating: 0, count: room - 1)), .binary([0])]).last
      == .message(attachments: [[UInt8](repeating: 0, count: room - 1), [0]]))
  #expect(
    run([head, .binary([UInt8](repeating: 0, count: room)), .binary([0])]).last == .problem(.tooLarge(limit: 1_000)))
}
