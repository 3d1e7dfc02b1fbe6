import Testing

@testable import GatewayClient

@Suite struct GatewayErrorTests {
  private func answer(_ text: String) throws -> GatewayError { GatewayError(answer: try RawObject(Array(text.utf8))) }

  @Test func itSaysWhatTheDaemonSaid() throws {
    let error = try answer(
      #"{"code":-32008,"message":"m","data":{"type":"QuotaExceeded","retry":true,"quota":"sends","retry_after":250}}"#)
    #expect(error.kind == .quotaExceeded && error.code == -32008 && error.retry == true && error.message == "m")
    #expect(error.retryAfter == .milliseconds(250) && error.data["quota"] == "sends")
    #expect(error.description == "QuotaExceeded: m; try again later")
  }

  @Test func aKindThatIsNotKnownYetIsOneLikeAnyOther() throws {
    let error = try answer(#"{"code":-32099,"message":"m","data":{"type":"Newer"}}"#)
    #expect(error.kind == GatewayError.Kind(rawValue: "Newer") && error.retry == nil && error.advice == nil)
  }

  @Test func aCatchTakesTheKind() throws {
    do {
      throw try answer(#"{"code":-32006,"message":"m","data":{"type":"AckTimeout"}}"#)
    } catch GatewayError.Kind.ackLost {
      Issue.record("it is another kind")
    } catch GatewayError.Kind.ackTimeout {
      // As it should be.
    }
  }
}
