/// One call of a method: its params, understood and checked. Each method of the local protocol is one type and one
/// file, which says what the method is called, who may call it, what its params are, and what is done; `MethodTable`
/// lists them. Byte arrays hold raw JSON text, exactly as the client wrote it.
///
/// A session performs a call where it was read. As a value of any type one that is larger than three words would cost an
/// allocation.
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
  var startsWork: Bool { Self.startsWork }

  func isEqual(to other: any LocalCall) -> Bool { other as? Self == self }
}
