import Testing

@testable import GatewayCore

/// What upstreams know beyond Socket.IO: keyword arguments, parts of answers, errors of the application.
@Suite struct RemoteAnswerTests {
  private let harness = GatewayHarness()

  private func client(_ params: String = #"{"upstream":"chat"}"#) -> HarnessClient {
    let client = harness.client()
    client.call("subscribe", params)
    harness.upstream.channel.accept()
    client.read()
    return client
  }

  @Test func keywordArgumentsGoUpAndComeDown() {
    let client = client()
    client.call("send", #"{"upstream":"chat","event":"e","args":[1],"kwargs":{"b":1.50,"a":2}}"#)
    #expect(harness.upstream.channel.written == [#"e [1]{"b":1.50,"a":2}"#])
    harness.upstream.channel.emit("e", "1", kwargs: #"{"b":1.50}"#)
    #expect(client.read()[0].hasSuffix(#""event":"e","args":[1],"kwargs":{"b":1.50}}}"#))
    let history = client.call("history", #"{"upstream":"chat"}"#)
    #expect(history[0].contains(#""kwargs":{"b":1.50}"#))
  }

  @Test func theAnswerToARequestHasKeywordArguments() {
    let client = client()
    client.call("request", #"{"upstream":"chat","event":"e"}"#)
    harness.upstream.channel.acknowledge(0, "1,2", kwargs: #"{"x":1}"#)
    #expect(client.read() == [#"{"jsonrpc":"2.0","id":1,"result":{"args":[1,2],"kwargs":{"x":1}}}"#])
  }

  @Test func partsAreToldBeforeTheEnd() {
    let client = client()
    client.call("request", #"{"upstream":"chat","event":"e"}"#, id: 7)
    harness.upstream.channel.progress(0, "1")
    harness.upstream.channel.progress(0, "2")
    harness.upstream.channel.acknowledge(0, "3")
    harness.upstream.channel.progress(0, "4")
    #expect(
      client.read() == [
        #"{"jsonrpc":"2.0","method":"progress","params":{"id":7,"args":[1]}}"#,
        #"{"jsonrpc":"2.0","method":"progress","params":{"id":7,"args":[2]}}"#,
        #"{"jsonrpc":"2.0","id":7,"result":{"args":[3]}}"#,
      ])
  }

  @Test func onlyRequestsAreToldOfParts() {
    let client = client()
    client.call("send", #"{"upstream":"chat","event":"e","delivery":"acked"}"#)
    harness.upstream.channel.progress(0, "1")
    #expect(client.read().isEmpty)
  }

  @Test func aPartBeyondTheLineEndsTheCall() {
    let client = client()
    client.call("request", #"{"upstream":"chat","event":"e"}"#)
    harness.upstream.channel.progress(0, "\"" + String(repeating: "x", count: 1 << 20) + "\"")
    #expect(client.readValues()[0]["error"]?["data"]?["type"]?.stringValue == "PayloadTooLarge")
    #expect(harness.upstream.channel.forgotten == [0])
  }

  @Test func anErrorOfTheApplicationIsRequestFailed() {
    let client = client()
    client.call("request", #"{"upstream":"chat","event":"e"}"#)
    let error = RemoteError("com.example.empty", RemoteAnswer(Array("1".utf8), kwargs: Array(#"{"x":1}"#.utf8)))
    harness.upstream.channel.decline(0, error)
    let line = client.read()[0]
    #expect(line.contains(#""code":-32016,"message":"The server answered with the error com.example.empty.""#))
    #expect(line.hasSuffix(#""error":"com.example.empty","args":[1],"kwargs":{"x":1}}}}"#))
  }

  @Test func anErrorBeyondTheLineIsToldWithoutItsArguments() {
    let client = client()
    client.call("request", #"{"upstream":"chat","event":"e"}"#)
    let long = Array(("\"" + String(repeating: "x", count: 1 << 20) + "\"").utf8)
    harness.upstream.channel.decline(0, RemoteError("com.example.long", RemoteAnswer(long)))
    let data = client.readValues()[0]["error"]?["data"]
    #expect(data?["error"]?.stringValue == "com.example.long")
    #expect(data?["args"] == nil && data?["size"] != nil)
  }

  @Test func anErrorOfWhichOnlyTheLengthIsKnownIsToldWithIt() {
    let client = client()
    client.call("request", #"{"upstream":"chat","event":"e"}"#)
    harness.upstream.channel.decline(0, RemoteError("com.example.long", RemoteAnswer(tooLong: 2_000_000)))
    let data = client.readValues()[0]["error"]?["data"]
    #expect(data?["args"] == nil && data?["size"] == .number("2000000") && data?["limit"] == .number("1048576"))
  }

  @Test func anErrorEndsASendWithRetries() {
    let client = client()
    client.call("send", #"{"upstream":"chat","event":"e","delivery":"acked","retries":5}"#)
    harness.upstream.channel.decline(0, RemoteError("no"))
    #expect(client.readValues()[0]["error"]?["data"]?["type"]?.stringValue == "RequestFailed")
    harness.pass(.seconds(5))
    #expect(harness.upstream.channel.written.count == 1)
  }

  @Test func anAnswerCanBeAnError() {
    let client = client(#"{"upstream":"chat","answer":true,"events":["ask"]}"#)
    harness.upstream.channel.emit("ask", ack: 4)
    let token = client.readValues()[0]["params"]?["ack"]?.stringValue ?? ""
    client.call("respond", #"{"ack":"\#(token)","args":[1],"kwargs":{"x":1},"error":"no.way"}"#)
    #expect(harness.upstream.channel.answers == [#"4 no.way[1]{"x":1}"#])
  }

  @Test func anAnswerThatIsNoLongerWantedIsGone() {
    let client = client(#"{"upstream":"chat","answer":true,"events":["ask"]}"#)
    harness.upstream.channel.emit("ask", ack: 4)
    let token = client.readValues()[0]["params"]?["ack"]?.stringValue ?? ""
    harness.upstream.channel.withdraw(4)
    client.call("respond", #"{"ack":"\#(token)"}"#)
    #expect(harness.upstream.channel.answers.isEmpty)
  }

  // MARK: - Who was asked and leaves

  private static let callee = #"{"upstream":"chat","answer":true,"events":["ask"],"subscription":"s"}"#

  /// The token of a question that every callee was asked.
  private func ask(_ id: UInt64, _ clients: HarnessClient...) -> String {
    harness.upstream.channel.emit("ask", ack: id)
    let tokens = clients.map { client in
      client.readValues().compactMap { $0["params"]?["ack"]?.stringValue }.last ?? ""
    }
    #expect(Set(tokens).count == 1)
    return tokens[0]
  }

  @Test func aCalleeThatDiesOrUnsubscribesLeavesNoCallerWaiting() {
    let (first, second) = (client(Self.callee), client(Self.callee))
    _ = ask(4, first, second)
    first.call("unsubscribe", #"{"subscription":"s"}"#)
    #expect(harness.upstream.channel.declined.isEmpty)
    _ = ask(5, second)
    second.disconnect()
    #expect(Set(harness.upstream.channel.declined) == ["4 abandoned", "5 abandoned"])
    harness.upstream.channel.emit("ask", ack: 6)
    #expect(harness.upstream.channel.declined.last == "6 unheard")
  }

  @Test func aCalleeThatLeavesWithVeryManyQuestionsIsAnsweredForAPortionInEachTurn() {
    let client = client(Self.callee)
    let count = 2 * Endings.portion + 1
    for id in 1...count {
      harness.upstream.channel.emit("ask", ack: UInt64(id))
      client.read()
    }
    client.disconnect()
    var declined = [harness.upstream.channel.declined.count]
    for _ in 0..<2 {
      harness.timers.fire()
      declined.append(harness.upstream.channel.declined.count)
    }
    #expect(declined == [Endings.portion, 2 * Endings.portion, count])
  }

  @Test func whatTheServerTakesBackMeanwhileIsNotDeclined() {
    let client = client(Self.callee)
    let count = Endings.portion + 2
    for id in 1...count {
      harness.upstream.channel.emit("ask", ack: UInt64(id))
      client.read()
    }
    client.disconnect()
    for id in 1...count { harness.upstream.channel.withdraw(UInt64(id)) }
    harness.pass(.zero)
    #expect(harness.upstream.channel.declined.count == Endings.portion)
  }

  @Test func whatWasAnsweredIsNotDeclined() {
    let client = client(Self.callee)
    let token = ask(4, client)
    client.call("respond", #"{"ack":"\#(token)"}"#)
    client.disconnect()
    #expect(harness.upstream.channel.declined.isEmpty)
  }

  @Test func aCalleeThatSubscribesAnewGoesOnAnswering() {
    let client = client(Self.callee)
    let token = ask(4, client)
    client.call("subscribe", Self.callee)
    #expect(harness.upstream.channel.declined.isEmpty)
    client.call("respond", #"{"ack":"\#(token)","args":[1]}"#)
    #expect(harness.upstream.channel.answers == ["4 [1]"])
    _ = ask(5, client)
    client.call("subscribe", #"{"upstream":"chat","subscription":"s"}"#)
    #expect(harness.upstream.channel.declined == ["5 abandoned"])
  }

  @Test func whereTheServerCannotBeToldAProgramMayComeBackAndAnswer() {
    let first = client(Self.callee)
    harness.upstream.channel.hasWordsForAbsence = false
    let token = ask(4, first)
    first.disconnect()
    let second = harness.client()
    second.call("subscribe", Self.callee)
    second.call("respond", #"{"ack":"\#(token)","args":[1]}"#)
    #expect(harness.upstream.channel.answers == ["4 [1]"])
  }
}
