/// A word at the end of an event's arguments that has the form of an offset of connection state recovery. The packet
/// does not say whether it is one: volatile events have no offset, and end with whatever the application sends.
struct OffsetWord: Equatable, Sendable {
  /// Which adapter writes words of this form as offsets.
  enum Form: Sendable {
    /// The adapter in memory: a time in base 64, maybe with a counter, such as `Q7yBO7n.1`.
    case time
    /// The adapter for Redis streams: an id of a stream, such as `1795232203249-0`. Applications may send such ids as
    /// well.
    case stream
    /// The adapter for MongoDB: an object id, 24 hexadecimal digits. Applications send such ids as well.
    case object
  }

  var form: Form
  /// When it was made, as it says itself: milliseconds since 1970.
  var made: Int64
  /// The word, without its quotes.
  var range: Range<Int>
  /// Where the arguments end without it.
  var end: Int

  /// Longest word that is looked at, in bytes: the two numbers of a stream's id.
  private static let lengthLimit = 20 + 1 + 20

  /// The last of several arguments, when it is such a word.
  init?(lastOf arguments: RawSpan) {
    let quote = UInt8(ascii: "\"")
    var start = arguments.byteCount - 2
    guard start >= 0, JSONScanner.byte(arguments, start + 1) == quote else { return nil }
    let earliest = max(0, start - Self.lengthLimit)
    while start >= earliest, Self.isWordCharacter(JSONScanner.byte(arguments, start)) { start -= 1 }
    guard start >= 0, JSONScanner.byte(arguments, start) == quote else { return nil }
    // An escaped quote has a backslash before it, the beginning of an argument only a comma and spaces.
    var end = start
    while end > 0, JSONScanner.byte(arguments, end - 1) <= 32 { end -= 1 }
    if end > 0 {
      guard JSONScanner.byte(arguments, end - 1) == UInt8(ascii: ",") else { return nil }
      end -= 1
      while end > 0, JSONScanner.byte(arguments, end - 1) <= 32 { end -= 1 }
    }
    self.init(arguments, start + 1..<arguments.byteCount - 1, end: end)
  }

  /// An offset that was written down.
  init?(_ offset: String) {
    let bytes = Array(offset.utf8)
    self.init(bytes.span.bytes, 0..<bytes.count, end: 0)
  }

  private init?(_ text: RawSpan, _ range: Range<Int>, end: Int) {
    if let made = Self.time(text, range) {
      (form, self.made) = (.time, made)
    } else if let made = Self.stream(text, range) {
      (form, self.made) = (.stream, made)
    } else if let made = Self.object(text, range) {
      (form, self.made) = (.object, made)
    } else {
      return nil
    }
    (self.range, self.end) = (range, end)
  }

  /// Seven digits, which reach from 1972 to 2109, maybe with a counter of up to seven others behind a dot.
  private static func time(_ text: RawSpan, _ range: Range<Int>) -> Int64? {
    let end = range.lowerBound + 7
    guard range.count >= 7 else { return nil }
    var time: Int64 = 0
    for at in range.lowerBound..<end {
      guard let digit = base64Digit(JSONScanner.byte(text, at)) else { return nil }
      time = time << 6 | digit
    }
    guard range.upperBound > end else { return time }
    guard JSONScanner.byte(text, end) == UInt8(ascii: "."), (9...15).contains(range.count) else { return nil }
    for at in end + 1..<range.upperBound where base64Digit(JSONScanner.byte(text, at)) == nil { return nil }
    return time
  }

  /// Milliseconds, and a counter behind a hyphen.
  private static func stream(_ text: RawSpan, _ range: Range<Int>) -> Int64? {
    var at = range.lowerBound
    guard let time = decimal(text, &at, range.upperBound), at < range.upperBound - 1,
      JSONScanner.byte(text, at) == UInt8(ascii: "-")
    else { return nil }
    at += 1
    while at < range.upperBound, JSONScanner.byte(text, at) &- UInt8(ascii: "0") < 10 { at += 1 }
    return at == range.upperBound ? time : nil
  }

  /// Seconds in the first eight digits.
  private static func object(_ text: RawSpan, _ range: Range<Int>) -> Int64? {
    guard range.count == 24 else { return nil }
    var seconds: Int64 = 0
    for (index, at) in range.enumerated() {
      guard let digit = hexadecimalDigit(JSONScanner.byte(text, at)) else { return nil }
      if index < 8 { seconds = seconds << 4 | digit }
    }
    return seconds * 1_000
  }

  /// Up to 15 digits, which are enough for 30,000 years; `at` is left behind them.
  private static func decimal(_ text: RawSpan, _ at: inout Int, _ end: Int) -> Int64? {
    let start = at
    var value: Int64 = 0
    while at < end, at - start < 15, case let digit = JSONScanner.byte(text, at) &- UInt8(ascii: "0"), digit < 10 {
      value = value * 10 + Int64(digit)
      at += 1
    }
    return at > start ? value : nil
  }

  /// The value of a digit: figures, capitals, small letters, `-` and `_`.
  private static func base64Digit(_ byte: UInt8) -> Int64? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): Int64(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): Int64(byte - UInt8(ascii: "A") + 10)
    case UInt8(ascii: "a")...UInt8(ascii: "z"): Int64(byte - UInt8(ascii: "a") + 36)
    case UInt8(ascii: "-"): 62
    case UInt8(ascii: "_"): 63
    default: nil
    }
  }

  private static func hexadecimalDigit(_ byte: UInt8) -> Int64? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): Int64(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): Int64(byte - UInt8(ascii: "a") + 10)
    default: nil
    }
  }

  private static func isWordCharacter(_ byte: UInt8) -> Bool {
    base64Digit(byte) != nil || byte == UInt8(ascii: ".")
  }
}

/// How a server writes its offsets. That depends on its adapter and is said nowhere, so it is learnt from words that
/// can be nothing else. Decisions 0041 and 0086.
enum OffsetShape: Equatable, Sendable {
  /// No offset was seen yet. `afterStreams`: those of an earlier session were a stream's. May become anything else.
  case unknown(afterStreams: Bool)
  /// One word of the form `stream` was seen, which may be an argument. `last` and `lead` as below. May become `known`.
  case supposed(last: Int64, lead: Int64?)
  /// The form of all offsets, and when the last one was made. `lead` is by how much the clock that makes them is ahead
  /// of the local monotonic one, in milliseconds; nil while only an earlier daemon's offset is known. Of the form
  /// `object` may become that of `time`, of `stream` `contradictory`.
  case known(OffsetWord.Form, last: Int64, lead: Int64?)
  /// Words of two adapters were seen, so that one of them was an argument, and which is not known. Final for a session.
  case contradictory

  /// What a word at the end of an event is.
  enum Verdict: Equatable, Sendable {
    /// Certainly an offset.
    case offset
    /// It may be an offset, and if it is none the server will say so; but it may as well be an argument.
    case likely
    /// Certainly an argument.
    case argument
    /// Perhaps an offset that was not recognized, so that an earlier one may not be the last any more.
    case doubtful
  }

  /// The clocks that a word is held against, in milliseconds.
  struct Clock: Equatable, Sendable {
    var monotonic: Int64
    /// The server's clock, as far as it is known: since 1970.
    var server: Int64

    /// The server's clock is as the handshake told it; where it did not, the local one has to do.
    init(_ arrival: Arrival, _ sample: ClockSample?) {
      let monotonic = arrival.instant.nanoseconds / 1_000_000
      self.monotonic = monotonic
      server = sample.map { monotonic &+ $0.lead.upperBound / 1_000_000 } ?? arrival.wallMilliseconds
    }
  }

  /// How far the first offset may be from the server's clock, which is known only as well as clocks are set, in
  /// milliseconds: 30 days. That is one word of seven characters in eight hundred; no word of a language is as near
  /// before the summer of 2028.
  private static let firstDistance: Int64 = 30 * 24 * 3_600_000
  /// How far later offsets may be out of step with the earlier ones, in milliseconds.
  private static let stepDistance: Int64 = 10 * 60_000

  /// What is known when the server begins another session: what it has proved about its adapter.
  var afterwards: OffsetShape {
    switch self {
    case .known(.stream, _, _), .unknown(afterStreams: true): .unknown(afterStreams: true)
    case .unknown, .supposed, .known, .contradictory: .unknown(afterStreams: false)
    }
  }

  func judge(_ word: OffsetWord, _ clock: Clock) -> Verdict {
    switch self {
    case .contradictory: return .argument
    case .unknown(let afterStreams):
      guard Self.isNear(word, clock) else { return .argument }
      return word.form == .stream && afterStreams ? .offset : Self.firstVerdict(word.form)
    case .supposed(let last, let lead):
      // A stream's ids only grow.
      if word.form == .stream, last <= word.made, word.made <= Self.latest(lead, clock) { return .offset }
      return Self.isNear(word, clock) ? Self.firstVerdict(word.form) : .argument
    case .known(let form, let last, let lead):
      guard form == word.form else { return judge(word, against: form, clock) }
      if last &- Self.stepDistance <= word.made, word.made <= Self.latest(lead, clock) {
        return form == .object ? .likely : .offset
      }
      return Self.isNear(word, clock) ? .doubtful : .argument
    }
  }

  /// When the next offset is made at the latest.
  private static func latest(_ lead: Int64?, _ clock: Clock) -> Int64 {
    lead.map { clock.monotonic &+ $0 &+ stepDistance } ?? clock.server &+ firstDistance
  }

  /// A word that has another form than the offsets until now. A time in base 64 is not what applications send; the
  /// other two may be.
  private func judge(_ word: OffsetWord, against form: OffsetWord.Form, _ clock: Clock) -> Verdict {
    guard Self.isNear(word, clock) else { return .argument }
    return switch (form, word.form) {
    case (.object, .time): .offset
    case (.object, .stream): .likely
    case (.stream, .time): .doubtful
    case (.time, _), (.stream, _), (.object, .object): .argument
    }
  }

  /// What a word is before there is another one to compare it with. An application that sends ids of streams or objects
  /// at all sends fresh ones too.
  private static func firstVerdict(_ form: OffsetWord.Form) -> Verdict { form == .time ? .offset : .likely }

  private static func isNear(_ word: OffsetWord, _ clock: Clock) -> Bool {
    abs(word.made &- clock.server) <= firstDistance
  }

  /// What is known after a word that was judged so.
  mutating func learn(_ word: OffsetWord, _ verdict: Verdict, _ clock: Clock) {
    switch (verdict, self) {
    case (.argument, _): break
    case (.doubtful, .known(let form, _, _)): if form != word.form { self = .contradictory }
    case (.doubtful, _): break
    // Two forms that applications send as well: which of them are offsets cannot be known, and all of them stay.
    case (.likely, .known(.object, _, _)) where word.form == .stream: break
    case (.likely, _) where word.form == .stream: self = .supposed(last: word.made, lead: word.made &- clock.monotonic)
    case (.offset, _), (.likely, _):
      let fresh = word.made &- clock.monotonic
      // What was on its way for long says less about the lead than what was not.
      guard case .known(let form, let last, let lead?) = self, form == word.form else {
        return self = .known(word.form, last: word.made, lead: fresh)
      }
      self = .known(form, last: max(last, word.made), lead: max(lead, fresh))
    }
  }
}
