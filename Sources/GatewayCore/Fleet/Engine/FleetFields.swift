/// What an entry of a stream or a row of a table is made of: short names with bytes, in order. A name may occur more than
/// once.
struct FleetFields: Hashable, Sendable {
  struct Field: Hashable, Sendable {
    var name: String
    var value: [UInt8]
  }

  private(set) var all: [Field] = []

  init() {}

  init(_ all: [Field]) { self.all = all }

  mutating func add(_ name: String, _ value: [UInt8]) {
    // Most have no more.
    if all.isEmpty { all.reserveCapacity(4) }
    all.append(Field(name: name, value: value))
  }

  mutating func add(_ name: String, _ value: String) { add(name, Array(value.utf8)) }

  mutating func add(_ name: String, _ value: UInt64) {
    var digits: [UInt8] = []
    digits.append(decimal: value)
    add(name, digits)
  }

  /// Nil adds nothing.
  mutating func add(_ name: String, ifSet value: [UInt8]?) {
    if let value { add(name, value) }
  }

  /// A mark that is there or not.
  mutating func add(_ name: String, if isSet: Bool) {
    if isSet { add(name, [UInt8(ascii: "1")]) }
  }

  /// The first of that name.
  subscript(name: String) -> [UInt8]? {
    for index in all.indices where all[index].name == name { return all[index].value }
    return nil
  }

  func text(_ name: String) -> String? { self[name].map { String(decoding: $0, as: UTF8.self) } }

  /// Nil for what is not decimal digits, or more than 64 bits.
  func number(_ name: String) -> UInt64? { self[name].flatMap { UInt64(decimal: $0.span.bytes) } }

  func has(_ name: String) -> Bool { self[name] != nil }

  /// All of that name.
  func every(_ name: String) -> [[UInt8]] { all.filter { $0.name == name }.map(\.value) }

  /// Bytes of all names and values.
  var byteCount: Int { all.reduce(0) { $0 + $1.name.utf8.count + $1.value.count } }
}

/// What programs are told as it stands in the engine, where others can write as well: it is JSON of its form, in one line that is
/// no deeper than it may be, or it is not taken.
extension FleetFields {
  /// A string with its quotes; nil for anything else.
  func string(_ name: String) -> [UInt8]? { json(name, .string, depth: 1) }
  /// Values with commas between them, possibly none; nil for anything else.
  func elements(_ name: String) -> [UInt8]? { json(name, .elements, depth: LineDepth.argumentLimit) }
  /// One value; nil for anything else.
  func value(_ name: String) -> [UInt8]? { json(name, .value, depth: LineDepth.limit) }
  /// An object; nil for anything else.
  func object(_ name: String) -> [UInt8]? { json(name, .object, depth: LineDepth.argumentLimit + 1) }

  /// The arguments of an event or an answer, `a`, and its keyword arguments, `w`, where it has some; nil where one of them cannot
  /// be told.
  var payload: (arguments: [UInt8], kwargs: [UInt8]?)? {
    let kwargs = object("w")
    guard let arguments = elements("a"), has("w") == (kwargs != nil) else { return nil }
    return (arguments, kwargs)
  }

  private func json(_ name: String, _ form: JSONLineForm, depth: Int) -> [UInt8]? {
    self[name].flatMap { form.fits($0.span.bytes, depth: depth) ? $0 : nil }
  }
}

extension FleetFields {
  /// All of them as one value: of each its name, `:`, how many bytes it has, `:`, and these.
  var packed: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(byteCount + all.count * 8)
    for field in all {
      bytes.append(contentsOf: field.name.utf8)
      bytes.append(UInt8(ascii: ":"))
      bytes.append(decimal: UInt64(field.value.count))
      bytes.append(UInt8(ascii: ":"))
      bytes.append(contentsOf: field.value)
    }
    return bytes
  }

  /// Most fields of one value: a message with all its attachments, of which there may be 1,000, has fewer.
  static let limit = 2_048

  /// Nil for what `packed` never makes.
  init?(packed bytes: some Collection<UInt8>) {
    var rest = Array(bytes)[...]
    while !rest.isEmpty {
      guard all.count < Self.limit, let name = rest.takeWord(),
        let count = rest.takeWord().flatMap({ Int($0) }), count >= 0, rest.count >= count
      else { return nil }
      all.append(Field(name: name, value: Array(rest.prefix(count))))
      rest = rest.dropFirst(count)
    }
  }
}

extension ArraySlice<UInt8> {
  /// The text before the next colon, which goes with it; nil without one.
  fileprivate mutating func takeWord() -> String? {
    guard let end = firstIndex(of: UInt8(ascii: ":")) else { return nil }
    defer { self = self[(end + 1)...] }
    return String(decoding: self[..<end], as: UTF8.self)
  }
}

/// An entry of a stream, as it is read.
struct FleetRecord: Hashable, Sendable {
  var position: FleetPosition
  var fields: FleetFields

  /// Bytes of what the fields say.
  var byteCount: Int { fields.all.reduce(0) { $0 + $1.value.count } }
}
