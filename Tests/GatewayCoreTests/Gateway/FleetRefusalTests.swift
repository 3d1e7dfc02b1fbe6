import Testing

@testable import GatewayCore

/// A server that refuses the holder: what programs of all hosts are told.
@Suite struct FleetRefusalTests {
  private let fleet = FleetGateways()

  private static let refusal = UpstreamFailure(
    .refused, "the server refused the namespace /: this room is closed", serverMessage: "this room is closed",
    serverData: Array(#"{"code":4711}"#.utf8))

  /// Host `a` holds and is refused, `b` follows.
  private func begin(_ failure: UpstreamFailure = Self.refusal) {
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    fleet.hosts["a"]?.upstream.channels.last?.fail(failure)
    fleet.turn(by: .milliseconds(100))
    fleet.start("b")
    fleet.turn(by: .seconds(1))
  }

  private func request(_ host: String) throws -> HarnessClient {
    let program = try #require(fleet.hosts[host]).client()
    program.call("request", #"{"upstream":"chat","event":"e"}"#)
    return program
  }

  private func error(_ program: HarnessClient) -> JSONValue? { program.readValues().last?["error"] }

  @Test(arguments: ["a", "b"]) func aRequestOfARefusedUpstreamEndsAtOnceInTheServersWords(_ host: String) throws {
    begin()
    for _ in 1...2 {
      let program = try request(host)
      fleet.turn(by: .milliseconds(100))
      let data = error(program)?["data"]
      #expect(data?["type"]?.stringValue == "UpstreamRefused" && data?["retry"]?.boolValue == false)
      #expect(data?["message"]?.stringValue == "this room is closed" && data?["data"]?["code"]?.integerValue == 4_711)
    }
  }

  @Test func aRequestThatWaitsHearsOfTheRefusalWithinOneLook() throws {
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    fleet.start("b")
    fleet.turn(by: .seconds(1))
    let programs = try [request("a"), request("b")]
    fleet.turn(by: .milliseconds(500))
    #expect(programs.allSatisfy { error($0) == nil })
    fleet.hosts["a"]?.upstream.channels.last?.fail(Self.refusal)
    fleet.turn(by: FleetOptions().lease / 3 + .milliseconds(100))
    #expect(
      programs.map { error($0)?["data"]?["message"]?.stringValue } == ["this room is closed", "this room is closed"])
  }

  @Test func aRefusalByItsHTTPStatusEndsARequestAsDownWithThatStatus() throws {
    begin(UpstreamFailure(.http, "the server answered with HTTP 401", status: 401))
    let program = try request("b")
    fleet.turn(by: .milliseconds(100))
    let data = error(program)?["data"]
    #expect(data?["type"]?.stringValue == "UpstreamDown" && data?["reason"]?.stringValue == "http")
    #expect(data?["status"]?.integerValue == 401)
  }

  @Test func aRequestAtTheHolderAsksARefusingServerOnceMore() throws {
    begin()
    let before = fleet.hosts["a"]?.upstream.channels.count ?? 0
    _ = try request("a")
    fleet.turn(by: .milliseconds(1_100))
    #expect(fleet.hosts["a"]?.upstream.channels.count == before + 1)
    fleet.accept("a")
    let program = try request("a")
    fleet.turn(by: .milliseconds(100))
    #expect(error(program) == nil && fleet.written("a").last?.hasPrefix("e ") == true)
  }

  /// Whether anything that Redis has holds a text.
  private func isKept(_ text: String) -> Bool {
    let (tables, streams) = (fleet.store.content.tables, fleet.store.content.streams)
    let rows = tables.values.flatMap(\.values) + streams.values.flatMap { $0.records.map(\.fields.packed) }
    return rows.contains { String(decoding: $0, as: UTF8.self).contains(text) }
  }

  @Test func aServerThatRepeatsTheCredentialsAsItRefusesAnInterestIsNotQuotedInRedis() throws {
    fleet.start("a").upstream.confirmedInterests = .all
    fleet.turn(by: .seconds(5))
    fleet.accept("a")
    fleet.start("b").upstream.confirmedInterests = .all
    fleet.turn(by: .seconds(20))
    let channel = try #require(fleet.hosts["a"]?.upstream.channels.last)
    channel.secret = "s3cret"
    let program = try #require(fleet.hosts["b"]).client()
    var told: [String] = []
    for (name, words) in [("news", "not with s3cret"), ("more", "not with that")] {
      program.call("subscribe", #"{"upstream":"chat","events":["\#(name)"]}"#)
      fleet.turn(by: .milliseconds(100))
      channel.refuse(name, words)
      fleet.turn(by: .milliseconds(100))
      #expect(!isKept("s3cret"))
      told += program.read()
    }
    #expect(told.contains { $0.contains("not with that") } && !told.contains { $0.contains("s3cret") })
  }

  @Test func aServerThatRepeatsTheCredentialsAsItEndsTheLinkIsNotQuotedInRedis() throws {
    fleet.startTwo()
    let channel = try #require(fleet.hosts["a"]?.upstream.channels.last)
    channel.secret = "s3cret"
    channel.fail(UpstreamFailure(.kicked, "the router ended this session: s3cret has expired"))
    fleet.turn(by: .seconds(2))
    #expect(!isKept("s3cret") && isKept("with words in which the credentials stand"))
  }

  @Test func aServerThatIsNotReachedEndsNoRequestOfAFollower() throws {
    begin(UpstreamFailure(.unreachable, "connection refused"))
    let program = try request("b")
    fleet.turn(by: .seconds(2))
    #expect(error(program) == nil)
  }
}
