@testable import GatewayCore

/// The body of a poll in each of the three forms; what is read must lie in the body, in order, and what is written again
/// must be read as the same. The first byte chooses whether the body is a first one, and its content type.
enum PayloadTarget {
  static func problem(with input: [UInt8]) -> String? {
    guard let choice = input.first else { return nil }
    let body = Array(input.dropFirst())
    let type = choice & 1 == 0 ? "text/plain; charset=UTF-8" : "application/octet-stream"
    _ = PayloadForm(opening: body, contentType: type)
    for form in [PayloadForm.separated, .counted, .octets] {
      if let problem = problem(body, form) { return problem }
    }
    return nil
  }

  private static func problem(_ body: [UInt8], _ form: PayloadForm) -> String? {
    var reader = PayloadReader(form: form, sizeLimit: 1_024)
    var packets: [PollingOutbox.Packet] = []
    var end = 0
    do throws(EngineIOProblem) {
      while let packet = try reader.next(in: body) {
        guard packet.range.lowerBound >= end, packet.range.upperBound <= body.count, !packet.range.isEmpty else {
          return "a packet lies outside of the body or of the order"
        }
        end = packet.range.upperBound
        packets.append(PollingOutbox.Packet(isBinary: packet.isBinary, bytes: Array(body[packet.range])))
      }
    } catch { return nil }
    return form == .octets ? rewritten(packets) : nil
  }

  /// What we write in octets is what we read.
  private static func rewritten(_ packets: [PollingOutbox.Packet]) -> String? {
    var outbox = PollingOutbox()
    for packet in packets { outbox.append(packet) }
    var again: [PollingOutbox.Packet] = []
    while let body = outbox.takeBatch(.three, sizeLimit: 512) {
      var reader = PayloadReader(form: .octets, sizeLimit: 1_024)
      do throws(EngineIOProblem) {
        while let packet = try reader.next(in: body) {
          again.append(PollingOutbox.Packet(isBinary: packet.isBinary, bytes: Array(body[packet.range])))
        }
      } catch { return "what was written cannot be read" }
    }
    return again == packets ? nil : "what was written is read differently"
  }
}
