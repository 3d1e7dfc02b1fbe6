/// Finds the server's time in the arguments of an event or of an acknowledgement. Remote input: whatever is no time is
/// passed over.
enum ServerInstant {
  /// Longer arguments are not looked into, in bytes.
  static let sizeLimit = 16 << 10
  private static let numberLimit = 40

  /// What the server's clock showed, in nanoseconds since 1970: the first argument that is a time, or that has one
  /// under the configured member. `arguments` are JSON texts with commas between them.
  static func find(in arguments: RawSpan, _ settings: ServerTimeSettings) -> ClosedRange<Int64>? {
    guard arguments.byteCount > 0, arguments.byteCount <= sizeLimit else { return nil }
    let list = [UInt8(ascii: "[")] + arguments.withUnsafeBytes { [UInt8]($0) } + [UInt8(ascii: "]")]
    let path = settings.member?.split(separator: ".", omittingEmptySubsequences: false).map(String.init) ?? []
    for argument in (try? JSONValue.parse(list.span.bytes))?.elements ?? [] {
      var found: JSONValue? = argument
      for key in path { found = found?[key] }
      if let shown = found.flatMap({ read($0, settings.unit) }) { return shown }
    }
    return nil
  }

  private static func read(_ value: JSONValue, _ unit: TimeUnit) -> ClosedRange<Int64>? {
    switch value {
    case .number(let text): number(text, unit)
    case .string(let text): ISOInstant.nanoseconds(text).map { interval($0.value, $0.resolution) } ?? number(text, unit)
    case .null, .bool, .array, .object: nil
    }
  }

  /// Some servers cut a time to its unit and some round it.
  private static func interval(_ nanoseconds: Int64, _ resolution: Int64) -> ClosedRange<Int64> {
    max(0, nanoseconds - resolution / 2)...nanoseconds + resolution
  }

  private static func number(_ text: String, _ unit: TimeUnit) -> ClosedRange<Int64>? {
    guard text.utf8.count <= numberLimit, text.utf8.first.map({ (48...57).contains($0) }) == true,
      text.utf8.allSatisfy({ (48...57).contains($0) || ".eE+-".utf8.contains($0) }), let value = Double(text)
    else { return nil }
    // Whole microseconds are exact in a binary number until long after 2200.
    let micros = (value * unit.microseconds).rounded(.down)
    guard micros >= 0, micros < Double(ClockSample.plausible.upperBound / 1_000 - 2_000_000) else { return nil }
    let isWhole = text.utf8.allSatisfy { (48...57).contains($0) }
    let resolution = isWhole ? Int64(unit.microseconds * 1_000) : 1_000_000
    return interval(Int64(micros) * 1_000, max(1_000, resolution))
  }
}

extension ISOInstant {
  /// Reads `2026-11-21T16:27:22.123Z` and its variants with other digits, a space, or an offset; without one it is UTC.
  /// Nanoseconds since 1970, and what the last digit counts. Nil for anything else, and for years before 1970 or after
  /// 2199.
  static func nanoseconds(_ text: String) -> (value: Int64, resolution: Int64)? {
    let bytes = [UInt8](text.utf8)
    guard (19...40).contains(bytes.count), bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
      bytes[10] == UInt8(ascii: "T") || bytes[10] == UInt8(ascii: " "), bytes[13] == UInt8(ascii: ":"),
      bytes[16] == UInt8(ascii: ":"), let year = digits(bytes[0..<4]), let month = digits(bytes[5..<7]),
      let day = digits(bytes[8..<10]), let hour = digits(bytes[11..<13]), let minute = digits(bytes[14..<16]),
      let second = digits(bytes[17..<19]), (1_970...2_199).contains(year), (1...12).contains(month),
      (1...HTTPDate.length(ofMonth: month, year)).contains(day), hour < 24, minute < 60, second < 60
    else { return nil }
    var rest = bytes[19...]
    var fraction: Int64 = 0
    var resolution: Int64 = 1_000_000_000
    if rest.first == UInt8(ascii: ".") {
      let figures = rest.dropFirst().prefix { (48...57).contains($0) }
      guard !figures.isEmpty else { return nil }
      for figure in figures.prefix(9) {
        resolution /= 10
        fraction += Int64(figure - 48) * resolution
      }
      rest = rest[figures.endIndex...]
    }
    guard let offset = zone(rest) else { return nil }
    let days = HTTPDate.daysSince1970(year, month, day)
    let seconds = days * 86_400 + Int64(hour * 3_600 + minute * 60 + second - offset)
    guard seconds >= 0, seconds < ClockSample.plausible.upperBound / 1_000_000_000 else { return nil }
    return (seconds * 1_000_000_000 + fraction, resolution)
  }

  /// The seconds by which a zone is ahead of UTC; nil for what is no zone.
  private static func zone(_ text: ArraySlice<UInt8>) -> Int? {
    guard let sign = text.first else { return 0 }
    let rest = text.dropFirst()
    if sign == UInt8(ascii: "Z") || sign == UInt8(ascii: "z") { return rest.isEmpty ? 0 : nil }
    guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else { return nil }
    let figures = rest.filter { $0 != UInt8(ascii: ":") }
    guard figures.count == 4, rest.count <= 5, let number = digits(figures[...]), number % 100 < 60, number < 2_400
    else { return nil }
    let seconds = number / 100 * 3_600 + number % 100 * 60
    return sign == UInt8(ascii: "-") ? -seconds : seconds
  }

  private static func digits(_ text: ArraySlice<UInt8>) -> Int? {
    text.allSatisfy { (48...57).contains($0) } ? text.reduce(0) { $0 * 10 + Int($1 - 48) } : nil
  }
}
