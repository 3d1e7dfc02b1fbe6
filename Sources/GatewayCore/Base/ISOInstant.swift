/// A point in time as text in ISO 8601, the way JavaScript writes a date: UTC, milliseconds, and finer digits only
/// where there are any.
struct ISOInstant: Equatable, Sendable {
  private let seconds: Int64
  private let nanoseconds: Int

  /// Years beyond what JavaScript's dates reach, 271821 BC to 275760, are refused, as are nanoseconds beyond a second.
  init?(seconds: Int64, nanoseconds: Int = 0) {
    guard (-8_640_000_000_000...8_640_000_000_000).contains(seconds), (0..<1_000_000_000).contains(nanoseconds) else {
      return nil
    }
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  init?(milliseconds: Int64) {
    let rest = milliseconds % 1_000
    let fraction = rest < 0 ? rest + 1_000 : rest
    self.init(seconds: (milliseconds &- fraction) / 1_000, nanoseconds: Int(fraction) * 1_000_000)
  }

  /// `2026-11-21T13:45:00.000Z`.
  var text: String {
    let second = Self.remainder(seconds, 86_400)
    let (year, month, day) = Self.date(dayNumber: (seconds - second) / 86_400)
    let years = (0...9_999).contains(year) ? Self.padded(year, 4) : (year < 0 ? "-" : "+") + Self.padded(abs(year), 6)
    let fraction =
      nanoseconds % 1_000_000 == 0 ? Self.padded(Int64(nanoseconds / 1_000_000), 3) : Self.padded(Int64(nanoseconds), 9)
    return "\(years)-\(Self.padded(month, 2))-\(Self.padded(day, 2))T\(Self.padded(second / 3_600, 2)):"
      + "\(Self.padded(second / 60 % 60, 2)):\(Self.padded(second % 60, 2)).\(fraction)Z"
  }

  /// The date of a day counted from 1970-01-01, in the Gregorian calendar. Years begin in March here, so that the leap
  /// day is their last one, and repeat after 400.
  private static func date(dayNumber: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let fromMarch = dayNumber + 719_468
    let dayOfEra = remainder(fromMarch, 146_097)
    let era = (fromMarch - dayOfEra) / 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    return (year, month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
  }

  private static func remainder(_ number: Int64, _ divisor: Int64) -> Int64 {
    let rest = number % divisor
    return rest < 0 ? rest + divisor : rest
  }

  private static func padded(_ number: Int64, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
