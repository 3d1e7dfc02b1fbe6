/// One line of a local client, understood.
struct LocalRequest: Equatable, Sendable {
  /// Nil for a notification, which is never answered.
  var id: RequestID?
  var call: any LocalCall

  static func == (a: LocalRequest, b: LocalRequest) -> Bool { a.id == b.id && a.call.isEqual(to: b.call) }

  /// Understands one line, in one pass over it, and checks it against the method table. The line comes without its end,
  /// and maybe without a long member. `lastTarget` is what the caller's last call was about.
  static func parse(
    _ line: RawSpan, long: LongMember? = nil, lastTarget: CallTarget? = nil
  ) throws(LocalRequestFailure) -> LocalRequest {
    var envelope = LocalEnvelope(long: long, lastTarget: lastTarget)
    let (id, call) = try envelope.read(line)
    do { return LocalRequest(id: id, call: try call.init(envelope.values, line)) } catch {
      throw LocalRequestFailure(id: id, error: error, answered: id != nil)
    }
  }
}

/// Why a line was not carried out.
struct LocalRequestFailure: Error, Equatable, Sendable {
  /// What the error is answered to. Nil where the line was not understood, and for a notification.
  var id: RequestID?
  var error: LocalError
  /// False for a notification, which is never answered.
  var answered: Bool

  init(id: RequestID?, error: LocalError, answered: Bool) {
    self.id = id
    self.error = error
    self.answered = answered
  }
}

/// The members of a JSON-RPC 2.0 request object, as they were found in a line. Members of other names are ignored.
struct LocalEnvelope: ~Copyable {
  private enum Member: Int, CaseIterable {
    case jsonrpc, id, method, params
  }
  private static let index = NameIndex(["jsonrpc", "id", "method", "params"])

  /// Why there is no request object here.
  private var refusal: LocalError?
  /// Whether that is the protocol's; nil before its member.
  private var isVersionRight: Bool?
  private var id: Range<Int>?
  private var method: Range<Int>?
  private var params: Range<Int>?
  /// For the call that `read` returns.
  private(set) var values: ParameterValues
  private var otherKeys = JSONKeySet()

  @inline(__always)
  init(long: LongMember?, lastTarget: CallTarget?) { values = ParameterValues(long: long, lastTarget: lastTarget) }

  /// Understands one line, in one pass over it, and checks it against the method table: which call it asks for, and what
  /// that is answered to.
  mutating func read(_ line: RawSpan) throws(LocalRequestFailure) -> (id: RequestID?, call: any LocalCall.Type) {
    do { try scan(line) } catch { throw LocalRequestFailure(id: nil, error: .parse(error), answered: true) }
    let id: RequestID?
    let name: Range<Int>
    do {
      id = try requestID(line)
      name = try methodName(line)
    } catch { throw LocalRequestFailure(id: nil, error: error, answered: true) }
    do { return (id, try call(line, method: name)) } catch {
      throw LocalRequestFailure(id: id, error: error, answered: id != nil)
    }
  }

  /// Scans the whole line. Throws only if it is no JSON; everything else that is wrong comes up when it is asked for.
  private mutating func scan(_ line: RawSpan) throws(JSONError) {
    guard let long = values.long else { return try scanLine(line) }
    if let problem = long.problem { throw problem }
    do throws(JSONError) { try scanLine(line) } catch { throw long.original(error) }
  }

  private mutating func scanLine(_ line: RawSpan) throws(JSONError) {
    var at = 0
    JSONScanner.skipWhitespace(line, &at)
    switch JSONScanner.byte(line, at) {
    case UInt8(ascii: "{"): try scanMembers(line, &at)
    case UInt8(ascii: "["):
      return refuse("A batch is not understood here: send one line for each call.")
    default:
      _ = try JSONScanner.scanValue(line, &at)
      refuse("A line must be a JSON-RPC 2.0 request object.")
    }
    JSONScanner.skipWhitespace(line, &at)
    guard at == line.byteCount else { throw .syntax(at: at) }
  }

  /// How nearly all lines begin: there nothing has to be looked for.
  private static let usualBeginning = [UInt8](#"{"jsonrpc":"2.0","#.utf8)

  private mutating func scanMembers(_ line: RawSpan, _ at: inout Int) throws(JSONError) {
    let usual = Self.usualBeginning.span.bytes
    if line.extracting(droppingFirst: at).extracting(first: usual.byteCount).isEqual(to: usual) {
      isVersionRight = true
      at += usual.byteCount
      JSONScanner.skipWhitespace(line, &at)
    } else if !JSONScanner.openContainer(line, &at, end: UInt8(ascii: "}")) {
      return
    }
    repeat {
      let key = try JSONScanner.scanKey(line, &at)
      let member = Self.index.find(line, key).flatMap { Member(rawValue: $0) }
      let value: Range<Int>
      if member == .params, params == nil, JSONScanner.byte(line, at) == UInt8(ascii: "{") {
        let start = at
        try values.scan(line, &at, depth: JSONScanner.depthLimit - 1)
        value = start..<at
      } else {
        value = try JSONScanner.scanValue(line, &at, depth: JSONScanner.depthLimit - 1)
      }
      add(line, member, key, value)
    } while try JSONScanner.stepToNext(line, &at, end: UInt8(ascii: "}"))
  }

  @inline(__always)
  private mutating func add(_ line: RawSpan, _ member: Member?, _ key: Range<Int>, _ value: Range<Int>) {
    let isFirst: Bool
    switch member {
    case .jsonrpc:
      isFirst = isVersionRight == nil
      if isFirst { isVersionRight = JSONScanner.stringEquals(line, value, "2.0") }
    case .id: isFirst = Self.set(&id, value)
    case .method: isFirst = Self.set(&method, value)
    case .params: isFirst = Self.set(&params, value)
    case nil:
      // What is refused already is only read to its end.
      guard refusal == nil else { return }
      switch otherKeys.insert(line, key) {
      case .isNew: return
      case .isRepeated: isFirst = false
      case .isTooMany:
        return refuse("The request object has more than \(JSONKeySet.limit) members that mean nothing here.")
      }
    }
    guard !isFirst else { return }
    let place = values.long?.original(key.lowerBound) ?? key.lowerBound
    refuse("The key at byte \(place) of the request object is used twice.")
  }

  @inline(__always)
  private static func set(_ place: inout Range<Int>?, _ value: Range<Int>) -> Bool {
    guard place == nil else { return false }
    place = value
    return true
  }

  private mutating func refuse(_ message: String) {
    if refusal == nil { refusal = LocalError(.invalidRequest, message) }
  }

  /// Nil for a notification. `mutating`, as all that is asked of it, so that nothing is copied for the question.
  private mutating func requestID(_ line: RawSpan) throws(LocalError) -> RequestID? {
    if let refusal { throw refusal }
    guard isVersionRight == true else {
      throw LocalError(.invalidRequest, "The member \"jsonrpc\" must be \"2.0\".")
    }
    guard let range = id else { return nil }
    guard let id = RequestID(line, range) else {
      let requirement = ParameterKind.requestID.requirement
      throw LocalError(.invalidRequest, "The member \"id\" must be \(requirement).")
    }
    return id
  }

  /// Where the method's name stands.
  private mutating func methodName(_ line: RawSpan) throws(LocalError) -> Range<Int> {
    guard let method, JSONScanner.byte(line, method.lowerBound) == UInt8(ascii: "\"") else {
      throw LocalError(.invalidRequest, "The member \"method\" must be the name of a method.")
    }
    return method
  }

  /// The type of the call, whose params there are all that it needs, and no others.
  private mutating func call(_ line: RawSpan, method name: Range<Int>) throws(LocalError) -> any LocalCall.Type {
    guard let (method, call) = MethodTable.find(line, name) else {
      throw .unknownMethod(JSONScanner.decodeString(line, name), among: MethodTable.methods.map(\.name))
    }
    if let params, JSONScanner.byte(line, params.lowerBound) != UInt8(ascii: "{") {
      throw LocalError(.invalidParams, "The params of \"\(method.name)\" must be an object.")
    }
    try values.begin(method, line)
    return call
  }
}
