import Testing

@testable import GatewayCore

/// What a program is told when another host has taken the link.
@Suite struct FleetTakeOverTests {
  private let fleet = FleetGateways()

  /// A program of `b`, which follows `a`, once the link is up.
  private func follow(_ params: String) throws -> HarnessClient {
    fleet.start("a")
    fleet.turn(by: .seconds(5))
    fleet.accept("a")
    fleet.start("b")
    fleet.turn(by: .seconds(5))
    let program = try #require(fleet.hosts["b"]).client()
    program.call("subscribe", params)
    fleet.hosts["a"]?.upstream.channels.last?.emit("e")
    fleet.turn(by: .seconds(1))
    program.read()
    return program
  }

  /// Each gap, and whether the connection is said to be recovered each time that it is up.
  private func told(_ lines: [String]) -> [String] {
    HarnessClient.values(lines).compactMap { line in
      if line["method"]?.stringValue == "gap" { return "gap" }
      guard line["params"]?["state"]?.stringValue == "connected" else { return nil }
      return line["params"]?["recovered"]?.boolValue == true ? "recovered" : "connected"
    }
  }

  @Test func aTakeOverThatIsAGapIsNotCalledRecovered() throws {
    let program = try follow(#"{"upstream":"chat","state":true}"#)
    try fleet.takeOver(recovered: false)
    #expect(told(program.read()) == ["gap", "connected"])
  }

  @Test func aTakeOverInTheServersSessionIsCalledRecovered() throws {
    let program = try follow(#"{"upstream":"chat","state":true}"#)
    try fleet.takeOver(recovered: true)
    #expect(told(program.read()) == ["recovered"])
  }

  @Test func sendsBeyondWhatTheFleetHasConfirmedAreNotLostWithTheHolder() throws {
    let program = try follow(#"{"upstream":"chat"}"#)
    // Its server takes nothing more.
    fleet.hosts["a"]?.upstream.channels.last?.unsentBytes = 2 << 20
    for number in 1...6_000 {
      program.call("send", #"{"upstream":"chat","event":"e","args":[\#(number)]}"#)
      if number.isMultiple(of: 1_000) { fleet.turn(by: .milliseconds(20)) }
    }
    #expect(fleet.written("a") == [])
    try fleet.takeOver(recovered: false)
    fleet.turn(by: .seconds(5))
    let written = fleet.written("b")
    #expect((1_800...1_910).contains(written.count))
    #expect(written == (6_001 - written.count...6_000).map { "e [\($0)]" })
  }

  @Test func whatAHostThatIsStoppedInOrderHasNotWrittenIsWrittenByTheNext() throws {
    let program = try follow(#"{"upstream":"chat"}"#)
    let channel = try #require(fleet.hosts["a"]?.upstream.channels.last)
    channel.unsentBytes = 2 << 20
    for number in 1...10 { program.call("send", #"{"upstream":"chat","event":"e","args":[\#(number)]}"#) }
    fleet.turn(by: .milliseconds(20))
    channel.unsentBytes = 0
    fleet.hosts["a"]?.gateway.stop(reason: "test") {}
    fleet.turn(by: .seconds(3))
    fleet.accept("b")
    fleet.turn(by: .seconds(1))
    #expect(fleet.written("a") + fleet.written("b") == (1...10).map { "e [\($0)]" })
  }

  @Test func aServerThatSaysMoreThanTheStoreTakesIsReadNoFurtherForAWhile() throws {
    let program = try follow(#"{"upstream":"chat"}"#)
    let channel = try #require(fleet.hosts["a"]?.upstream.channels.last)
    let text = "\"" + String(repeating: "x", count: 300 << 10) + "\""
    for _ in 1...3 { channel.emit("e", text) }
    #expect(!channel.isReadingHeld)
    channel.emit("e", text)
    #expect(channel.isReadingHeld)
    fleet.turn(by: .seconds(1))
    #expect(!channel.isReadingHeld)
    #expect(program.read().filter { $0.contains(#""method":"event""#) }.count == 4)
    // The same while it is away.
    fleet.store.stop()
    fleet.turn(by: .milliseconds(100))
    for _ in 1...4 { channel.emit("e", text) }
    #expect(channel.isReadingHeld)
    fleet.store.start()
    fleet.turn(by: .seconds(2))
    #expect(!channel.isReadingHeld)
    #expect(program.read().filter { $0.contains(#""method":"event""#) }.count == 4)
  }

  @Test func aServerThatAnswersWhileTheStoreIsAwayIsReadNoFurtherAndNoAnswerIsLost() throws {
    let program = try follow(#"{"upstream":"chat"}"#)
    let channel = try #require(fleet.hosts["a"]?.upstream.channels.last)
    for id in 1...4 { program.call("request", #"{"upstream":"chat","event":"ask","timeout":60000}"#, id: id) }
    fleet.turn(by: .seconds(1))
    let asked = channel.written.compactMap { $0.split(separator: "#").last.flatMap { UInt64($0) } }
    #expect(asked.count == 4)
    fleet.store.stop()
    fleet.turn(by: .milliseconds(100))
    let text = "\"" + String(repeating: "x", count: 300 << 10) + "\""
    for id in asked { channel.acknowledge(id, text) }
    #expect(channel.isReadingHeld)
    fleet.store.start()
    fleet.turn(by: .seconds(2))
    #expect(!channel.isReadingHeld)
    #expect(program.readValues().filter { $0["result"] != nil }.count == 4)
  }

  @Test func whatIsSentWhileTheStoreIsAwayExpiresAsAnywhere() throws {
    let program = try follow(#"{"upstream":"chat"}"#)
    fleet.store.stop()
    fleet.turn(by: .milliseconds(100))
    program.call("send", #"{"upstream":"chat","event":"short","ttl":500}"#)
    program.call("send", #"{"upstream":"chat","event":"long"}"#)
    fleet.turn(by: .seconds(1))
    fleet.store.start()
    fleet.turn(by: .seconds(5))
    #expect(fleet.written("a") == ["long []"])
  }

  @Test func roomsAreEnteredAgainAfterATakeOver() throws {
    _ = try follow(#"{"upstream":"chat","enter":[{"event":"join","args":["ops"]}]}"#)
    #expect(fleet.written("a") == [#"join ["ops"]"#])
    try fleet.takeOver(recovered: false)
    #expect(fleet.written("b") == [#"join ["ops"]"#])
  }

  /// The next holder has to know which hosts hold them.
  @Test func roomsThatTheServerStillKnowsAreEnteredAgainAndLeftWithTheLastHost() throws {
    let program = try follow(Self.room)
    try fleet.takeOver(recovered: true)
    #expect(told(program.read()) == [])
    #expect(fleet.written("b") == [#"join ["ops"]"#])
    program.disconnect()
    fleet.turn(by: .seconds(1))
    #expect(fleet.written("b") == [#"join ["ops"]"#, #"leave ["ops"]"#])
  }

  private static let room =
    #"{"upstream":"chat","enter":[{"event":"join","args":["ops"]}],"leave":[{"event":"leave","args":["ops"]}]}"#

  @Test func aRoomIsLeftWithTheLastProgramOfAllHosts() throws {
    let program = try follow(Self.room)
    let other = try #require(fleet.hosts["a"]).client()
    other.call("subscribe", Self.room)
    fleet.turn(by: .seconds(1))
    #expect(fleet.written("a") == [#"join ["ops"]"#, #"join ["ops"]"#])
    program.disconnect()
    fleet.turn(by: .seconds(1))
    #expect(fleet.written("a").count == 2)
    other.disconnect()
    fleet.turn(by: .seconds(1))
    #expect(fleet.written("a").last == #"leave ["ops"]"# && fleet.written("a").count == 3)
  }

  /// Only the host with the link knows what the server takes.
  @Test func aRoomThatTheServerWouldNotTakeIsToldToTheProgramsOfOtherHosts() throws {
    let program = try follow(#"{"upstream":"chat"}"#)
    fleet.hosts["a"]?.upstream.messageLimit = 5
    program.call("subscribe", Self.room, id: 2)
    fleet.turn(by: .seconds(1))
    #expect(fleet.written("a") == [])
    let gaps = program.readValues().filter { $0["method"]?.stringValue == "gap" }
    #expect(
      gaps.map { $0["params"]?["detail"]?.stringValue }
        == ["the server refuses the message 'join': it has 7 bytes, and the server takes at most 5"])
  }

  @Test func aRoomOfAHostThatDiesIsLeftWhenTheFleetTakesItForDead() throws {
    fleet.adopt = .seconds(10)
    _ = try follow(Self.room)
    fleet.kill("b")
    fleet.turn(by: .seconds(5))
    #expect(fleet.written("a") == [#"join ["ops"]"#])
    fleet.turn(by: .seconds(20))
    #expect(fleet.written("a") == [#"join ["ops"]"#, #"leave ["ops"]"#])
  }
}
