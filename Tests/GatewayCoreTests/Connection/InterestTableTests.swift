import Testing

@testable import GatewayCore

/// An upstream that sends only what it was asked for, and says whether it agrees.
@Suite struct InterestTableTests {
  private let harness = GatewayHarness()

  init() { harness.upstream.confirmedInterests = .all }

  private func connected() -> HarnessClient {
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat","events":["first"]}"#)
    harness.upstream.channel.accept()
    harness.upstream.channel.agree("first")
    return client
  }

  @Test func whatIsWantedIsAskedOnceForAll() {
    let first = connected()
    let second = harness.client(uid: 2)
    second.call("subscribe", #"{"upstream":"chat","events":["first"]}"#)
    #expect(harness.upstream.channel.asked == ["+first"])
    first.disconnect()
    #expect(harness.upstream.channel.asked == ["+first"])
    second.disconnect()
    #expect(harness.upstream.channel.asked == ["+first", "-first"])
  }

  @Test func connectedMeansThatEverythingWantedIsConfirmed() {
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat","events":["a","b"],"state":true}"#)
    let channel = harness.upstream.channel
    #expect(Set(channel.asked) == ["+a", "+b"])
    channel.accept()
    channel.agree("a")
    #expect(client.read().isEmpty)
    channel.agree("b")
    #expect(client.readValues().map { $0["params"]?["state"]?.stringValue } == ["connected"])
  }

  @Test func anAttemptWithoutAllAnswersEndsInTime() {
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat","events":["a"],"state":true}"#)
    harness.upstream.channel.accept()
    harness.pass(.seconds(11))
    #expect(harness.upstream.channels[0].isClosed)
    #expect(client.readValues().first?["params"]?["reason"]?.stringValue == "timeout")
  }

  @Test func theAnswerWaitsForTheServer() {
    _ = connected()
    let client = harness.client()
    #expect(client.call("subscribe", #"{"upstream":"chat","events":["second"]}"#).isEmpty)
    harness.upstream.channel.emit("second", "0")
    harness.upstream.channel.agree("second")
    harness.upstream.channel.emit("second", "1")
    let lines = client.readValues()
    #expect(lines[0]["result"]?["state"]?.stringValue == "connected")
    #expect(lines.count == 2 && lines[1]["params"]?["args"] == .array([.number("1")]))
  }

  @Test func aRefusedSubscriptionIsNotMade() {
    _ = connected()
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat","events":["second"]}"#)
    harness.upstream.channel.refuse("second")
    let error = client.readValues()[0]["error"]
    #expect(error?["data"]?["type"]?.stringValue == "UpstreamRefused")
    #expect(error?["data"]?["message"]?.stringValue == "no.such.right")
    #expect(harness.upstream.channel.asked == ["+first", "+second", "-second"])
    harness.upstream.channel.emit("second")
    #expect(client.read().isEmpty)
    client.call("subscribe", #"{"upstream":"chat","events":["second"]}"#)
    #expect(harness.upstream.channel.asked.last == "+second")
  }

  @Test func aServerThatDoesNotAnswerASubscriptionIsTold() {
    _ = connected()
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat","events":["second"]}"#)
    harness.pass(.seconds(11))
    #expect(client.readValues()[0]["error"]?["data"]?["reason"]?.stringValue == "timeout")
    #expect(harness.upstream.channel.asked.last == "-second")
  }

  @Test func aLinkThatBreaksMeanwhileKeepsNoSubscriptionFromBeingMade() {
    _ = connected()
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat","events":["second"]}"#)
    harness.upstream.channel.fail(.closed)
    #expect(client.readValues()[0]["result"]?["state"]?.stringValue == "disconnected")
    harness.pass(.seconds(2))
    #expect(Set(harness.upstream.channel.asked) == ["+first", "+second"])
  }

  @Test func aLaterRefusalIsToldOnce() {
    let client = connected()
    client.call("subscribe", #"{"upstream":"chat","events":["a","b"],"subscription":"mine"}"#)
    harness.upstream.channel.agree("a")
    harness.upstream.channel.agree("b")
    client.read()
    harness.upstream.channel.fail(.closed)
    harness.pass(.seconds(2))
    let channel = harness.upstream.channel
    channel.accept()
    channel.agree("first")
    channel.refuse("a")
    channel.refuse("b")
    let told = client.readValues().filter { $0["params"]?["detail"] != nil }
    #expect(told.count == 1)
    #expect(told.first?["params"]?["subscription"]?.stringValue == "mine")
    #expect(told.first?["params"]?["reason"]?.stringValue == "upstream")
    let refusals = harness.facts.filter { if case .interestRefused = $0 { true } else { false } }
    #expect(refusals.count == 2)
  }

  @Test func aCallThatIsTakenBackGivesItsInterestBack() {
    _ = connected()
    let client = harness.client()
    client.say(#"{"jsonrpc":"2.0","id":5,"method":"subscribe","params":{"upstream":"chat","events":["second"]}}"#)
    client.say(#"{"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":5}}"#)
    #expect(client.readValues()[0]["error"]?["data"]?["type"]?.stringValue == "Cancelled")
    #expect(harness.upstream.channel.asked.last == "-second")
    harness.upstream.channel.agree("second")
    harness.upstream.channel.emit("second")
    #expect(client.read().isEmpty)
  }

  @Test func whatCannotBeAskedForIsAnInvalidParam() {
    let client = harness.client()
    let error = HarnessClient.values(client.call("subscribe", #"{"upstream":"chat","answer":true}"#))[0]["error"]
    #expect(error?["data"]?["type"]?.stringValue == "InvalidParams")
  }

  @Test func whoAnswersIsAskedForApart() {
    _ = connected()
    let client = harness.client()
    client.call("subscribe", #"{"upstream":"chat","events":["first"],"answer":true}"#)
    #expect(harness.upstream.channel.asked == ["+first", "+!first"])
    harness.upstream.channel.agree("first", answers: true)
    #expect(client.readValues()[0]["result"] != nil)
  }

  @Test func aReplacedSubscriptionLivesUntilTheNewOneIsConfirmed() {
    let client = connected()
    client.call("subscribe", #"{"upstream":"chat","events":["first"],"subscription":"mine"}"#)
    client.call("subscribe", #"{"upstream":"chat","events":["second"],"subscription":"mine"}"#)
    harness.upstream.channel.emit("first")
    #expect(client.read().count == 2)
    harness.upstream.channel.agree("second")
    client.read()
    harness.upstream.channel.emit("first")
    #expect(client.read().count == 1)
  }
}
