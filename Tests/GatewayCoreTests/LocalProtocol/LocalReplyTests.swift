import Testing

@testable import GatewayCore

private func text(_ line: [UInt8]) -> String { String(decoding: line, as: UTF8.self) }

private let seven = RequestID(value: .integer(7), text: Array("7".utf8))

@Suite struct LocalReplyTests {
  @Test func aResultIsOneLineWithTheIdAsItWasWritten() {
    #expect(text(LocalReply.result(seven) { _ in }) == #"{"jsonrpc":"2.0","id":7,"result":{}}"# + "\n")
    let id = RequestID(value: .string("é"), text: Array(#""\u00e9""#.utf8))
    let line = LocalReply.result(id) { writer in
      writer.member("id", "x")
      writer.key("args")
      writer.raw(Array(#"[ 1.0, "\u00e9"]"#.utf8))
    }
    #expect(text(line) == #"{"jsonrpc":"2.0","id":"\u00e9","result":{"id":"x","args":[ 1.0, "\u00e9"]}}"# + "\n")
  }

  @Test func anErrorCarriesCodeTypeRetryAndFactsInOrder() {
    let error = LocalError(
      .queueFull, "The queue holds \"all\" it may.",
      [
        .init("limit", .integer(10_000)), .init("retry_after", .null), .init("why", .string("a\nb")),
        .init("data", .raw(Array("[1.0]".utf8))),
      ])
    #expect(
      text(LocalReply.error(seven, error, limit: 1 << 20))
        == #"{"jsonrpc":"2.0","id":7,"error":{"code":-32004,"message":"The queue holds \"all\" it may.","#
        + #""data":{"type":"QueueFull","retry":true,"limit":10000,"retry_after":null,"why":"a\nb","data":[1.0]}}}"#
        + "\n")
    #expect(
      text(LocalReply.error(nil, LocalError(.parseError, "No."), limit: 1 << 20))
        == #"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"No.","data":{"type":"ParseError","retry":false}}}"#
        + "\n")
    #expect(
      text(LocalReply.error(seven, LocalError(.ackLost, "Unknown."), limit: 1 << 20))
        == #"{"jsonrpc":"2.0","id":7,"error":{"code":-32007,"message":"Unknown.","data":{"type":"AckLost"}}}"# + "\n")
  }

  /// The table of errors: released codes and types never change.
  @Test(
    arguments: [
      (.parseError, -32700, "ParseError", false), (.invalidRequest, -32600, "InvalidRequest", false),
      (.methodNotFound, -32601, "MethodNotFound", false), (.invalidParams, -32602, "InvalidParams", false),
      (.internalError, -32603, "InternalError", true), (.cancelled, -32800, "Cancelled", nil),
      (.permissionDenied, -32001, "PermissionDenied", false), (.upstreamUnknown, -32002, "UpstreamUnknown", false),
      (.upstreamDown, -32003, "UpstreamDown", true), (.queueFull, -32004, "QueueFull", true),
      (.expired, -32005, "Expired", false), (.ackTimeout, -32006, "AckTimeout", nil),
      (.ackLost, -32007, "AckLost", nil),
      (.quotaExceeded, -32008, "QuotaExceeded", true), (.unrecoverable, -32009, "Unrecoverable", false),
      (.draining, -32010, "Draining", true), (.conflict, -32011, "Conflict", false),
      (.payloadTooLarge, -32012, "PayloadTooLarge", false), (.upstreamRefused, -32013, "UpstreamRefused", false),
      (.illegalState, -32014, "IllegalState", false), (.ackGone, -32015, "AckGone", false),
      (.requestFailed, -32016, "RequestFailed", false),
    ] as [(LocalError.Kind, Int, String, Bool?)])
  func errorsKeepTheirCodeAndType(_ kind: LocalError.Kind, _ code: Int, _ type: String, _ retry: Bool?) {
    #expect(kind.code == code)
    #expect(kind.rawValue == type)
    #expect(kind.retry == retry)
  }

  @Test func everyErrorHasACodeOfItsOwn() {
    #expect(LocalError.Kind.allCases.count == 22)
    #expect(Set(LocalError.Kind.allCases.map(\.code)).count == 22)
  }

  @Test(arguments: [1 << 10, 64 << 10, 1 << 20])
  func megabytesOfAServersWordsFitIntoALine(limit: Int) {
    let words = String(repeating: "\u{1}", count: 3 << 20)
    let json = [UInt8](repeating: UInt8(ascii: "7"), count: 15 << 20)
    let upstream = UpstreamSpecification(
      name: nil, url: UpstreamURL(scheme: "http", host: "a.example"), namespace: "/", settings: UpstreamSettings(),
      owner: nil)
    let errors: [LocalError] = [
      LocalError(RemoteError(words, RemoteAnswer(json, kwargs: json)), limit: 1 << 20),
      LocalError(refused: UpstreamFailure(.refused, words, serverMessage: words, serverData: json), by: upstream),
      LocalError(down: UpstreamFailure(.closed, words)), .unknownUpstream(words), .noSubscription(words),
      LocalError(.invalidParams, words, [.init("problems", .raw(json))]),
    ]
    for error in errors {
      let line = LocalReply.error(RequestID(value: .integer(7), text: []), error, limit: limit)
      #expect(line.count <= limit, "\(error.kind)")
      #expect((try? JSONScanner.validate(line.span.bytes)) != nil)
    }
  }

  @Test func whatDoesNotFitIsNamedByItsSize() {
    let answer = RemoteAnswer([UInt8](repeating: UInt8(ascii: "7"), count: 5_000))
    let error = LocalError(RemoteError("no.such", answer), limit: 1 << 20)
    let line = LocalReply.error(nil, error, limit: 2_000)
    #expect(
      String(decoding: line, as: UTF8.self)
        == #"{"jsonrpc":"2.0","id":null,"error":{"code":-32016,"message":"The server answered with the error no.such.","#
        + #""data":{"type":"RequestFailed","retry":false,"error":"no.such","limit":2000,"size":5182}}}"# + "\n")
  }
}
