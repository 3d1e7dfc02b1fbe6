import GatewayCore
import Glibc

/// Writes log records as lines: `2026-11-21T10:00:00.123Z warning connection down upstream=chat …`.
final class TextLog {
  private let descriptor: Int32
  private let time: any TimeSource
  private var lost = 0

  /// Longest line, in bytes: a pipe that polls as writable takes as much without blocking.
  static let lineLimit = 4_096

  /// The descriptor stays the caller's.
  init(descriptor: Int32, time: any TimeSource) {
    self.descriptor = descriptor
    self.time = time
  }

  /// Never blocks: a line that the reader does not take is dropped and counted.
  func write(_ record: LogRecord) {
    var text = Self.line(record, at: time.wallMilliseconds)
    if lost > 0 { text.insert(contentsOf: "(\(lost) lines lost) ".utf8, at: 0) }
    if text.count > Self.lineLimit {
      var end = Self.lineLimit - 1
      // Not in the middle of a character.
      while text[end] & 0b1100_0000 == 0b1000_0000 { end -= 1 }
      text.removeLast(text.count - end)
      text.append(UInt8(ascii: "\n"))
    }
    var interest = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    guard poll(&interest, 1, 0) == 1, Glibc.write(descriptor, text, text.count) == text.count else {
      lost += 1
      return
    }
    lost = 0
  }

  /// The line with its end mark.
  static func line(_ record: LogRecord, at wallMilliseconds: Int64) -> [UInt8] {
    Array("\(timestamp(wallMilliseconds)) \(record.level.rawValue) \(record.text)\n".utf8)
  }

  /// RFC 3339 in UTC with milliseconds.
  private static func timestamp(_ wallMilliseconds: Int64) -> String {
    var seconds = time_t(wallMilliseconds / 1_000)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    func digits(_ value: Int, _ width: Int) -> String {
      let text = String(value)
      return String(repeating: "0", count: max(0, width - text.count)) + text
    }
    let date =
      "\(digits(Int(parts.tm_year) + 1900, 4))-\(digits(Int(parts.tm_mon) + 1, 2))-\(digits(Int(parts.tm_mday), 2))"
    let clock = "\(digits(Int(parts.tm_hour), 2)):\(digits(Int(parts.tm_min), 2)):\(digits(Int(parts.tm_sec), 2))"
    return "\(date)T\(clock).\(digits(Int(wallMilliseconds % 1_000), 3))Z"
  }
}
