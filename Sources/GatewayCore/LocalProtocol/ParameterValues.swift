/// Where the params of one call stand in its line. Scanned in the same pass as the rest of the line, before the reader
/// knows which method it is: what the method allows is checked later. Large, and on the path of every call: passed
/// along, never copied.
struct ParameterValues: ~Copyable {
  /// The method of the call, as soon as it is known.
  private(set) var method = LocalMethod.unknown
  /// A param that is not in the line.
  let long: LongMember?
  /// What the caller's last call was about.
  let lastTarget: CallTarget?
  /// One bit for each param that was given, by the number of its name.
  private(set) var given: UInt64 = 0
  /// The first key that is the name of no param of any method.
  private(set) var unknown: Range<Int>?
  /// The first key that was used twice.
  private(set) var duplicate: Range<Int>?
  /// Of all values.
  private var notes = JSONScanner.Notes()
  /// Offsets beyond 4 GiB, which no line reaches, are clamped: such a param is found to be wrong.
  private var starts = InlineArray<48, UInt32>(repeating: 0)
  private var ends = InlineArray<48, UInt32>(repeating: 0)

  @inline(__always)
  init(long: LongMember?, lastTarget: CallTarget?) {
    self.long = long
    self.lastTarget = lastTarget
  }

  /// Scans the object that begins at `at`; `depth` counts the object itself.
  mutating func scan(_ line: RawSpan, _ at: inout Int, depth: Int) throws(JSONError) {
    guard JSONScanner.openContainer(line, &at, end: UInt8(ascii: "}")) else { return }
    repeat {
      let key = try JSONScanner.scanKey(line, &at)
      let value = try JSONScanner.scanValue(line, &at, depth: depth &- 1, &notes)
      add(line, key, value)
    } while try JSONScanner.stepToNext(line, &at, end: UInt8(ascii: "}"))
  }

  @inline(__always)
  private mutating func add(_ line: RawSpan, _ key: Range<Int>, _ value: Range<Int>) {
    guard let number = ParameterName.index.find(line, key) else {
      if unknown == nil { unknown = key }
      return
    }
    let bit: UInt64 = 1 &<< UInt64(truncatingIfNeeded: number)
    if given & bit != 0, duplicate == nil { duplicate = key }
    given |= bit
    starts[number] = UInt32(clamping: value.lowerBound)
    ends[number] = UInt32(clamping: value.upperBound)
  }

  /// Where the value of a param stands; nil if it was not given.
  @inline(__always)
  func range(_ name: ParameterName) -> Range<Int>? {
    given & name.bit == 0 ? nil : Int(starts.span[name.rawValue])..<Int(ends.span[name.rawValue])
  }

  /// Names the method. Refuses params that it does not have, that were given twice, and the lack of those it needs.
  mutating func begin(_ method: LocalMethod, _ line: RawSpan) throws(LocalError) {
    self.method = method
    if let unknown { throw .unknownParameter(JSONScanner.decodeString(line, unknown), of: method) }
    let foreign = given & ~method.knownParameters
    if foreign != 0 { throw .unknownParameter(Self.first(of: foreign), of: method) }
    if let duplicate { throw .duplicateParameter(JSONScanner.decodeString(line, duplicate), of: method) }
    let missing = method.requiredParameters & ~given
    if missing != 0 { throw .missingParameter(Self.first(of: missing), of: method) }
  }

  private static func first(of bits: UInt64) -> String {
    ParameterName(rawValue: bits.trailingZeroBitCount)?.text ?? ""
  }
}

/// The values of a call's params, each checked against its row of the method table. A param that was not given is nil.
/// The line has to be passed along with every question because a value cannot keep a borrowed view.
extension ParameterValues {
  /// The value of a param that the method needs. Its presence was checked before; here it becomes certain.
  func required<Value>(_ name: ParameterName, _ value: Value?) throws(LocalError) -> Value {
    guard let value else { throw .missingParameter(name.text, of: method) }
    return value
  }

  @inline(__always)
  func boolean(_ name: ParameterName, _ line: RawSpan) throws(LocalError) -> Bool? {
    guard let range = range(name) else { return nil }
    return try givenBoolean(name, line, range)
  }

  private func givenBoolean(
    _ name: ParameterName, _ line: RawSpan, _ range: Range<Int>
  ) throws(LocalError) -> Bool {
    switch JSONScanner.byte(line, range.lowerBound) {
    case UInt8(ascii: "t"): return true
    case UInt8(ascii: "f"): return false
    default: throw .wrongParameter(name, of: method)
    }
  }

  @inline(__always)
  func integer(_ name: ParameterName, _ line: RawSpan) throws(LocalError) -> Int? {
    guard let range = range(name) else { return nil }
    return try givenInteger(name, line, range)
  }

  private func givenInteger(
    _ name: ParameterName, _ line: RawSpan, _ range: Range<Int>
  ) throws(LocalError) -> Int {
    guard case .integer(let bounds) = method.kind(name), let value = JSONScanner.integer(line, range),
      bounds.contains(Int(value))
    else { throw .wrongParameter(name, of: method) }
    return Int(value)
  }

  /// The default of the param's row if it was not given.
  @inline(__always)
  func duration(_ name: ParameterName, _ line: RawSpan) throws(LocalError) -> Duration? {
    guard let range = range(name) else { return method.usualDuration(name) }
    return try givenDuration(name, line, range)
  }

  private func givenDuration(
    _ name: ParameterName, _ line: RawSpan, _ range: Range<Int>
  ) throws(LocalError) -> Duration {
    guard case .duration = method.kind(name), let value = JSONScanner.integer(line, range),
      (0...ParameterKind.durationLimit).contains(Int(value))
    else { throw .wrongParameter(name, of: method) }
    return .milliseconds(value)
  }

  @inline(__always)
  func string(_ name: ParameterName, _ line: RawSpan) throws(LocalError) -> String? {
    guard let range = range(name) else { return nil }
    return try givenString(name, line, range)
  }

  private func givenString(
    _ name: ParameterName, _ line: RawSpan, _ range: Range<Int>
  ) throws(LocalError) -> String {
    guard case .string(let bounds) = method.kind(name),
      let value = Self.string(line, range, bounds)
    else { throw .wrongParameter(name, of: method) }
    return value
  }

  func choice<Choice: RawRepresentable<String>>(
    _ name: ParameterName, _ line: RawSpan
  ) throws(LocalError) -> Choice? {
    guard let range = range(name) else { return nil }
    guard let word = Self.string(line, range, 1...ParameterKind.identifierLimit) else {
      throw .wrongParameter(name, of: method)
    }
    if let choice = Choice(rawValue: word) { return choice }
    throw .wrongParameter(name, of: method)
  }

  func strings(_ name: ParameterName, _ line: RawSpan) throws(LocalError) -> [String]? {
    guard let range = range(name) else { return nil }
    guard case .strings(let counts, let lengths) = method.kind(name),
      let value = Self.strings(line, range, counts, lengths)
    else { throw .wrongParameter(name, of: method) }
    return value
  }

  /// The text of an array or an object, verbatim.
  @inline(__always)
  func raw(_ name: ParameterName, _ line: RawSpan) throws(LocalError) -> [UInt8]? {
    guard let range = range(name) else { return nil }
    return try givenRaw(name, line, range)
  }

  private func givenRaw(
    _ name: ParameterName, _ line: RawSpan, _ range: Range<Int>
  ) throws(LocalError) -> [UInt8] {
    let first = JSONScanner.byte(line, range.lowerBound)
    let isArray = method.kind(name) == .array
    guard first == (isArray ? UInt8(ascii: "[") : UInt8(ascii: "{")) else { throw .wrongParameter(name, of: method) }
    if let long, long.place == range.lowerBound { return long.text }
    return line.extracting(range).withUnsafeBytes { [UInt8]($0) }
  }

  /// Whether no key in the `args` begins like `$…bin`; not known when false.
  var argsArePlain: Bool {
    guard let long, long.place == range(.args)?.lowerBound else { return !notes.hasMarks }
    return long.isPlain
  }

  func requestID(_ name: ParameterName, _ line: RawSpan) throws(LocalError) -> RequestID? {
    guard let range = range(name) else { return nil }
    guard let id = RequestID(line, range) else { throw .wrongParameter(name, of: method) }
    return id
  }

  /// Messages to be said to an upstream, their arguments in one spelling, so that equal ones are; nil for `null`.
  func messages(_ name: ParameterName, _ line: RawSpan) throws(LocalError) -> [EnterRequest?]? {
    guard let range = range(name) else { return nil }
    guard case .messages(let counts, let mayBeNull) = method.kind(name),
      JSONScanner.byte(line, range.lowerBound) == UInt8(ascii: "["),
      let elements = JSONScanner.elements(line.extracting(range), atMost: counts.upperBound),
      counts.contains(elements.count)
    else { throw .wrongParameter(name, of: method) }
    var requests: [EnterRequest?] = []
    for element in elements {
      let place = (range.lowerBound + element.lowerBound)..<(range.lowerBound + element.upperBound)
      let isNull = mayBeNull && JSONScanner.byte(line, place.lowerBound) == UInt8(ascii: "n")
      requests.append(isNull ? nil : try message(name, line, place))
    }
    return requests
  }

  private func message(_ name: ParameterName, _ line: RawSpan, _ range: Range<Int>) throws(LocalError) -> EnterRequest {
    var at = range.lowerBound
    var event: String?
    var (args, kwargs): ([UInt8]?, [UInt8]?)
    var wantsAck = false
    var isWrong = false
    var unknown: String?
    do {
      try JSONScanner.scanObject(line, &at, refuseDuplicates: true) { key, value in
        let first = JSONScanner.byte(line, value.lowerBound)
        if JSONScanner.stringEquals(line, key, "event") {
          event = Self.string(line, value, 1...EventName.limit)
        } else if JSONScanner.stringEquals(line, key, "args") {
          isWrong = isWrong || first != UInt8(ascii: "[")
          args = JSONScanner.respelled(line.extracting(value))
        } else if JSONScanner.stringEquals(line, key, "kwargs") {
          isWrong = isWrong || first != UInt8(ascii: "{")
          kwargs = JSONScanner.respelled(line.extracting(value))
        } else if JSONScanner.stringEquals(line, key, "ack") {
          isWrong = isWrong || (first != UInt8(ascii: "t") && first != UInt8(ascii: "f"))
          wantsAck = first == UInt8(ascii: "t")
        } else {
          unknown = unknown ?? JSONScanner.decodeString(line, key)
        }
      }
    } catch { throw .wrongParameter(name, of: method) }
    if let unknown { throw .unknownMember(unknown, of: name, of: method) }
    guard let event, !isWrong else { throw .wrongParameter(name, of: method) }
    return EnterRequest(
      message: EnterMessage(event, args: args ?? Array("[]".utf8), kwargs: kwargs == Array("{}".utf8) ? nil : kwargs),
      wantsAck: wantsAck)
  }

  /// Where a subscriber left off: exactly `epoch` and `seq`.
  func position(_ name: ParameterName, _ line: RawSpan) throws(LocalError) -> (epoch: String, sequence: UInt64)? {
    guard let range = range(name) else { return nil }
    var at = range.lowerBound
    var epoch: String?
    var sequence: UInt64?
    var unknown: String?
    do {
      try JSONScanner.scanObject(line, &at, refuseDuplicates: true) { key, value in
        if JSONScanner.stringEquals(line, key, "epoch") {
          epoch = Self.string(line, value, 1...ParameterKind.identifierLimit)
        } else if JSONScanner.stringEquals(line, key, "seq") {
          sequence = JSONScanner.integer(line, value).flatMap { UInt64(exactly: $0) }
        } else {
          unknown = unknown ?? JSONScanner.decodeString(line, key)
        }
      }
    } catch { throw .wrongParameter(name, of: method) }
    if let unknown { throw .unknownMember(unknown, of: name, of: method) }
    guard let epoch, let sequence, sequence <= ParameterKind.exactIntegerLimit else {
      throw .wrongParameter(name, of: method)
    }
    return (epoch, sequence)
  }
}

extension ParameterValues {
  /// A string of so many bytes; nil for anything else, and for half a surrogate pair, which is no character and could
  /// not be handed on as it was written.
  private static func string(_ line: RawSpan, _ range: Range<Int>, _ bounds: ClosedRange<Int>) -> String? {
    guard JSONScanner.byte(line, range.lowerBound) == UInt8(ascii: "\"") else { return nil }
    let inside = JSONScanner.inside(line, range)
    if !JSONScanner.hasEscape(line, inside) {
      guard bounds.contains(inside.count) else { return nil }
      return line.extracting(inside).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
    let decoded = JSONScanner.decodeBytes(line, range)
    guard decoded.wellFormed, bounds.contains(decoded.bytes.count) else { return nil }
    return String(decoding: decoded.bytes, as: UTF8.self)
  }

  private static func strings(
    _ line: RawSpan, _ range: Range<Int>, _ counts: ClosedRange<Int>, _ lengths: ClosedRange<Int>
  ) -> [String]? {
    var at = range.lowerBound
    var strings: [String] = []
    do {
      try JSONScanner.scanArray(line, &at) { element throws(JSONError) in
        guard strings.count < counts.upperBound, let text = string(line, element, lengths) else {
          throw .syntax(at: element.lowerBound)
        }
        strings.append(text)
      }
    } catch { return nil }
    return counts.contains(strings.count) ? strings : nil
  }
}
