/// Dates of HTTP headers: the three forms of RFC 9110 section 5.6.7 and the looser ones that cookies carry. Read with
/// the algorithm for cookies (RFC 6265 section 5.1.1), which takes them all.
enum HTTPDate {
  /// Longest text that is looked at, in bytes.
  static let textLimit = 128

  private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

  /// Seconds since 1970 in UTC; nil when the text is no date. Years reach from 1601 to 9999.
  static func seconds(_ text: some StringProtocol) -> Int64? {
    guard text.utf8.count <= textLimit else { return nil }
    var time: (Int, Int, Int)?
    var day: Int?
    var month: Int?
    var year: Int?
    for token in text.utf8.split(whereSeparator: isDelimiter) {
      if time == nil, let found = clock(token) {
        time = found
      } else if day == nil, let found = number(token, digits: 1...2) {
        day = found
      } else if month == nil, let found = monthNumber(token) {
        month = found
      } else if year == nil, let found = number(token, digits: 2...4) {
        year = found < 70 ? found + 2_000 : found < 100 ? found + 1_900 : found
      }
    }
    guard let time, let day, let month, let year else { return nil }
    guard (1...31).contains(day), year >= 1_601, time.0 < 24, time.1 < 60, time.2 < 60 else { return nil }
    guard day <= length(ofMonth: month, year) else { return nil }
    return daysSince1970(year, month, day) * 86_400 + Int64(time.0 * 3_600 + time.1 * 60 + time.2)
  }

  /// RFC 6265 section 5.1.1, `delimiter`.
  private static func isDelimiter(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x09, 0x20...0x2f, 0x3b...0x40, 0x5b...0x60, 0x7b...0x7e: true
    default: false
    }
  }

  /// The number at a token's beginning, if it has so many digits and no more.
  private static func number(_ token: some Collection<UInt8>, digits: ClosedRange<Int>) -> Int? {
    let figures = token.prefix { (48...57).contains($0) }
    guard digits.contains(figures.count) else { return nil }
    return figures.reduce(0) { $0 * 10 + Int($1 - 48) }
  }

  private static func clock(_ token: some Collection<UInt8>) -> (Int, Int, Int)? {
    let parts = token.split(separator: UInt8(ascii: ":"), maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count == 3 else { return nil }
    let numbers = parts.compactMap { number($0, digits: 1...2) }
    return numbers.count == 3 ? (numbers[0], numbers[1], numbers[2]) : nil
  }

  private static func monthNumber(_ token: some Collection<UInt8>) -> Int? {
    let name = String(decoding: token.prefix(3), as: UTF8.self).lowercased()
    return months.firstIndex(of: name).map { $0 + 1 }
  }

  static func length(ofMonth month: Int, _ year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Of the Gregorian calendar; a year begins with March here, so that the leap day is its last.
  static func daysSince1970(_ year: Int, _ month: Int, _ day: Int) -> Int64 {
    let year = month <= 2 ? year - 1 : year
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return Int64(year * 365 + year / 4 - year / 100 + year / 400 + dayOfYear - 719_468)
  }
}
