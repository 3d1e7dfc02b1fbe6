extension LocalRequest {
  /// Understands one line, in one pass over it, and checks it against the method table. The line comes without its end, and
  /// maybe without a long member.
  public static func parse(_ line: RawSpan, long: LongMember? = nil) throws(LocalRequestFailure) -> LocalRequest {
    var envelope = LocalEnvelope(long: long)
    do { try envelope.scan(line) } catch { throw LocalRequestFailure(id: nil, error: .parse(error), answered: true) }
    let id: RequestID?
    let name: Range<Int>
    do {
      id = try envelope.requestID(line)
      name = try envelope.methodName(line)
    } catch { throw LocalRequestFailure(id: nil, error: error, answered: true) }
    let call: LocalCall
    do {
      call = try envelope.call(line, method: name)
    } catch { throw LocalRequestFailure(id: id, error: error, answered: id != nil) }
    return LocalRequest(id: id, call: consume call)
  }
}
