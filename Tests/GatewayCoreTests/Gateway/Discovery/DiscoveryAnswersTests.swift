import Testing

@testable import GatewayCore

/// The gateway's real answers against what `rpc.discover` says about them.
@Suite struct DiscoveryAnswersTests {
  private let harness = GatewayHarness()
  private let client: HarnessClient
  private let document: JSONValue

  init() throws {
    client = harness.client(uid: 0)
    document = try #require(HarnessClient.values(client.call("rpc.discover")).first?["result"])
  }

  /// What is wrong with the answers to a call, or with members that no schema knows.
  private func problems(_ method: String, _ lines: [String]) throws -> [String] {
    let schema = document["methods"]?.elements?.first { $0["name"]?.stringValue == method }?["result"]?["schema"]
    let result = try #require(HarnessClient.values(lines).last { $0["id"] != nil }?["result"], "\(lines)")
    var checker = JSONSchemaChecker()
    checker.check(result, try #require(schema))
    return checker.problems + unknownMembers(of: result, try #require(schema), "$")
  }

  private func unknownMembers(of value: JSONValue, _ schema: JSONValue, _ path: String) -> [String] {
    if let alternatives = schema["anyOf"]?.elements, value != .null {
      return alternatives.first.map { unknownMembers(of: value, $0, path) } ?? []
    }
    if let elements = value.elements, let items = schema["items"] {
      return elements.flatMap { unknownMembers(of: $0, items, path + "[]") }
    }
    guard let properties = schema["properties"] else { return [] }
    return (value.members ?? []).flatMap { member in
      guard let known = properties[member.key] else { return ["\(path).\(member.key) is not described"] }
      return unknownMembers(of: member.value, known, "\(path).\(member.key)")
    }
  }

  @Test func theDocumentIsTheAnswer() {
    #expect(document["info"]?["version"] == .string("1.2.3"))
    #expect(document["methods"]?.elements?.count == MethodTable.methods.count)
  }

  @Test(arguments: [
    "hello", "ping", "status", "stats", "metrics", "clients.list", "upstreams.list", "reload", "rpc.cancel",
  ])
  func answersAboutTheDaemonAreDescribed(_ method: String) throws {
    let params = method == "rpc.cancel" ? #"{"id":99}"# : "{}"
    #expect(try problems(method, client.call(method, params)) == [])
  }

  @Test func answersAboutSubscriptionsAreDescribed() throws {
    let subscribed = client.call("subscribe", #"{"upstream":"chat","subscription":"s","credit":1}"#)
    #expect(try problems("subscribe", subscribed) == [])
    #expect(try problems("credit", client.call("credit", #"{"subscription":"s","n":2}"#)) == [])
    #expect(try problems("unsubscribe", client.call("unsubscribe", #"{"subscription":"s"}"#)) == [])
  }

  @Test func statusIsDescribedInEveryState() throws {
    client.call("subscribe", #"{"upstream":"chat"}"#)
    #expect(try problems("status", client.call("status")) == [])
    harness.upstream.channel.fail(UpstreamFailure(.http, "no handshake", status: 404))
    #expect(try problems("status", client.call("status")) == [])
    harness.pass(.seconds(60))
    harness.upstream.channel.facts = ChannelFacts(
      link: "link", transport: TransportFacts(name: "websocket", tlsVersion: "TLSv1.3", verified: true),
      protocols: [("engineio", 4), ("socketio", 5)], sid: "x", roundTrip: 0.8,
      heartbeat: (interval: .seconds(25), timeout: .seconds(20)))
    harness.upstream.channel.accept()
    harness.upstream.channel.emit("e")
    #expect(try problems("status", client.call("status")) == [])
    #expect(try problems("stats", client.call("stats")) == [])
  }

  @Test func answersOfSendsAreDescribed() throws {
    let send = #"{"upstream":"chat","event":"e"}"#
    #expect(try problems("send", client.call("send", send)) == [])
    harness.upstream.channel.accept()
    client.call("send", #"{"upstream":"chat","event":"e","delivery":"acked"}"#, id: 2)
    let written = try #require(harness.upstream.channel.written.last)
    harness.upstream.channel.acknowledge(try #require(written.split(separator: "#").last.flatMap { UInt64($0) }), "7")
    #expect(try problems("send", client.read()) == [])
    #expect(try problems("wait", client.call("wait", #"{"upstream":"chat","state":"connected","timeout":0}"#)) == [])
    #expect(try problems("disconnect", client.call("disconnect", #"{"upstream":"chat"}"#)) == [])
    #expect(try problems("reconnect", client.call("reconnect", #"{"upstream":"chat"}"#)) == [])
  }
}
