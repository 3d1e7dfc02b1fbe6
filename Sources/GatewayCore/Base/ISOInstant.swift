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
    var bytes: [UInt8] = []
    bytes.append(room: Self.room) { write(to: &$0) }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The memory that the longest text needs, `+275760-09-13T00:00:00.000000001Z`, and what writing it may touch besides.
  static let room = 33 + RawWriter.wordSize

  /// Writes the text where there is that room.
  func write(to writer: inout RawWriter) {
    let second = Self.remainder(seconds, 86_400)
    let (year, month, day) = Self.date(dayNumber: (seconds - second) / 86_400)
    if (0...9_999).contains(year) {
      Self.put(year, width: 4, then: "-", to: &writer)
    } else {
      writer.put(year < 0 ? "-" : "+" as StaticString)
      Self.put(abs(year), width: 6, then: "-", to: &writer)
    }
    Self.put(month, width: 2, then: "-", to: &writer)
    Self.put(day, width: 2, then: "T", to: &writer)
    Self.put(second / 3_600, width: 2, then: ":", to: &writer)
    Self.put(second / 60 % 60, width: 2, then: ":", to: &writer)
    Self.put(second % 60, width: 2, then: ".", to: &writer)
    let fraction = Int64(nanoseconds)
    guard fraction % 1_000_000 != 0 else { return Self.put(fraction / 1_000_000, width: 3, then: "Z", to: &writer) }
    Self.put(fraction / 1_000, width: 6, then: nil, to: &writer)
    Self.put(fraction % 1_000, width: 3, then: "Z", to: &writer)
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

  /// Exactly so many digits, at most seven, and what separates them from the next ones.
  @inline(__always)
  private static func put(_ number: Int64, width: Int, then separator: Unicode.Scalar?, to writer: inout RawWriter) {
    var (rest, word) = (UInt64(number), UInt64(separator?.value ?? 0) << UInt64(8 * width))
    for place in (0..<width).reversed() {
      word |= (UInt64(UInt8(ascii: "0")) + rest % 10) << UInt64(8 * place)
      rest /= 10
    }
    writer.put(word, count: separator == nil ? width : width + 1)
  }
}
