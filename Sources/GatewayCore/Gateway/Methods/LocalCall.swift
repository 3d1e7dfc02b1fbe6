/// One call of a method: its params, understood and checked. Each method of the local protocol is one type and one file,
/// which says what the method is called, who may call it, what its params are, and what is done; `MethodTable` lists them.
/// Byte arrays hold raw JSON text, exactly as the client wrote it.
///
/// A call is handed on as an existential value: one that is larger than three words costs an allocation.
protocol LocalCall: Equatable, Sendable {
  /// What the table says of the method.
  static var method: LocalMethod { get }

  /// Whether the call begins something that may last, and is therefore counted and refused while the gateway stops.
  static var startsWork: Bool { get }

  /// Reads params that are known, complete and given once each; checks their values.
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError)

  /// Does what was asked for, checks the caller's rights for it, and answers now or later; a call without an id is not
  /// answered. What is thrown is the answer.
  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError)
}

extension LocalCall {
  static var startsWork: Bool { false }

  func isEqual(to other: any LocalCall) -> Bool { other as? Self == self }
}

/// One line of a local client, understood.
struct LocalRequest: Equatable, Sendable {
  /// Nil for a notification, which is never answered.
  var id: RequestID?
  var call: any LocalCall

  static func == (a: LocalRequest, b: LocalRequest) -> Bool { a.id == b.id && a.call.isEqual(to: b.call) }

  /// Understands one line, in one pass over it, and checks it against the method table. The line comes without its end, and
  /// maybe without a long member.
  static func parse(_ line: RawSpan, long: LongMember? = nil) throws(LocalRequestFailure) -> LocalRequest {
    var envelope = LocalEnvelope(long: long)
    do { try envelope.scan(line) } catch { throw LocalRequestFailure(id: nil, error: .parse(error), answered: true) }
    let id: RequestID?
    let name: Range<Int>
    do {
      id = try envelope.requestID(line)
      name = try envelope.methodName(line)
    } catch { throw LocalRequestFailure(id: nil, error: error, answered: true) }
    do { return LocalRequest(id: id, call: try envelope.call(line, method: name)) } catch {
      throw LocalRequestFailure(id: id, error: error, answered: id != nil)
    }
  }
}
