/// Where the params of one call stand in its line. Scanned in the same pass as the rest of the line, before anybody
/// knows which method it is: what the method allows is checked later. Large, and on the path of every call: passed
/// along, never copied.
struct ParameterValues: ~Copyable {
  /// The method of the call, as soon as it is known.
  private(set) var method = LocalMethod.unknown
  /// A param that is not in the line.
  let long: LongMember?
  /// One bit for each param that was given, by the number of its name.
  private(set) var given: UInt64 = 0
  /// The first key that is the name of no param of any method.
  private(set) var unknown: Range<Int>?
  /// The first key that was used twice.
  private(set) var duplicate: Range<Int>?
  /// Offsets beyond 4 GiB, which no line reaches, are clamped: such a param is found to be wrong.
  private var starts = InlineArray<48, UInt32>(repeating: 0)
  private var ends = InlineArray<48, UInt32>(repeating: 0)

  init(long: LongMember?) { self.long = long }

  /// Scans the object that begins at `at`; `depth` counts the object itself.
  mutating func scan(_ line: RawSpan, _ at: inout Int, depth: Int) throws(JSONError) {
    guard JSONScanner.openContainer(line, &at, end: UInt8(ascii: "}")) else { return }
    repeat {
      let key = try JSONScanner.scanKey(line, &at)
      let value = try JSONScanner.scanValue(line, &at, depth: depth &- 1)
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
    given & name.bit == 0 ? nil : Int(starts[name.rawValue])..<Int(ends[name.rawValue])
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
