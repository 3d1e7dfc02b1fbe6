import Glibc
import Testing

@testable import GatewayCore
@testable import gatewayd

/// Lines of the log on standard error.
struct TextLogTests {
  private final class StandingClock: TimeSource {
    var now = MonotonicInstant(nanoseconds: 0)
    var wallMilliseconds: Int64 = 0
  }

  /// The middle of a character is at the limit for one of them at least.
  @Test(arguments: 0..<3)
  func aLineThatIsTooLongIsNotCutInTheMiddleOfACharacter(_ shift: Int) throws {
    let ends = try Descriptors.pair()
    defer { Descriptors.close(ends) }
    let value = String(repeating: "x", count: shift) + String(repeating: "€", count: 300)
    let log = TextLog(descriptor: ends.1, time: StandingClock())
    log.write(LogRecord(.started, [.detail: value, .upstream: value, .path: value, .reason: value, .url: value]))
    var bytes = [UInt8](repeating: 0, count: 2 * TextLog.lineLimit)
    let count = read(ends.0, &bytes, bytes.count)
    #expect(count > TextLog.lineLimit - 8 && count <= TextLog.lineLimit)
    #expect(String(validating: bytes.prefix(max(count, 0)), as: UTF8.self)?.last == "\n")
  }
}
