import GatewayCore

/// Durations as the command line writes them: `500ms`, `10s`, `5m`, `2h`.
enum DurationText {
  /// Ten years, the most that the local protocol takes.
  static let longest = Duration.seconds(10 * 365 * 86_400)

  /// The units, from the shortest, in milliseconds.
  private static let units: [(suffix: String, milliseconds: Int64)] = [
    ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000),
  ]

  /// Throws a sentence that says what is wrong with `text`.
  static func parse(_ text: String) throws(DurationProblem) -> Duration {
    let digits = text.utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    let suffix = String(text.dropFirst(digits.count))
    guard !digits.isEmpty else {
      throw DurationProblem("'\(ShownAddress.word(text))' is no duration; write 500ms, 10s, 5m or 2h")
    }
    guard !suffix.isEmpty else { throw DurationProblem("'\(text)' has no unit; write \(text)ms or \(text)s") }
    guard let unit = units.first(where: { $0.suffix == suffix }) else {
      throw DurationProblem("'\(text)' is no whole number with a unit; write 500ms, 10s, 5m or 2h")
    }
    let (milliseconds, overflow) = (Int64(String(digits) ?? "") ?? .max)
      .multipliedReportingOverflow(by: unit.milliseconds)
    guard !overflow, .milliseconds(milliseconds) <= longest else {
      throw DurationProblem("'\(text)' is longer than ten years")
    }
    guard milliseconds > 0 else { throw DurationProblem("'\(text)' is no time at all; the least is 1ms") }
    return .milliseconds(milliseconds)
  }

  /// The same way of writing, in the largest unit that is exact.
  static func write(_ duration: Duration) -> String {
    let milliseconds = duration.milliseconds
    let unit = units.last { milliseconds % $0.milliseconds == 0 && milliseconds >= $0.milliseconds } ?? units[0]
    return "\(milliseconds / unit.milliseconds)\(unit.suffix)"
  }

  /// For people: one or two units, such as `3 h 12 min` or `850 ms`.
  static func describe(milliseconds: Int64) -> String {
    let seconds = milliseconds / 1000
    switch seconds {
    case ..<1: return "\(max(0, milliseconds)) ms"
    case ..<60: return "\(seconds) s"
    case ..<3600: return pair(seconds / 60, "min", seconds % 60, "s")
    case ..<86_400: return pair(seconds / 3600, "h", seconds % 3600 / 60, "min")
    default: return pair(seconds / 86_400, "d", seconds % 86_400 / 3600, "h")
    }
  }

  private static func pair(_ large: Int64, _ unit: String, _ small: Int64, _ smaller: String) -> String {
    small == 0 ? "\(large) \(unit)" : "\(large) \(unit) \(small) \(smaller)"
  }
}

/// What is wrong with the text of a duration, as a sentence.
struct DurationProblem: Error, Equatable, Sendable {
  var message: String
  init(_ message: String) { self.message = message }
}
