import Testing

@testable import GatewayCore

@Suite struct FleetSilenceTests {
  private let now = MonotonicInstant(nanoseconds: 0)

  @Test func aHostIsSilentWhenItsBeatStaysTheSame() throws {
    var silence = FleetSilence(adopt: .seconds(30))
    let details = String(decoding: FleetHostDetails().fields.packed, as: UTF8.self)
    func row(_ text: String) throws -> FleetHostRow { try #require(FleetHostRow(Array("\(text):\(details)".utf8))) }
    let first = try ["a": row("1:5"), "b": row("1:5")]
    #expect(silence.look(first, at: now) == [])
    #expect(try silence.look(["a": row("1:6"), "b": row("1:5")], at: now + .seconds(29)) == [])
    #expect(try silence.look(["a": row("1:6"), "b": row("1:5")], at: now + .seconds(30)) == ["b"])
    silence.forget("b")
    #expect(try silence.look(["a": row("1:7"), "b": row("2:0")], at: now + .seconds(60)) == [])
  }

  @Test func aHostIsNotSilentForAsLongAsTheEngineWasAway() throws {
    var silence = FleetSilence(adopt: .seconds(30))
    let details = String(decoding: FleetHostDetails().fields.packed, as: UTF8.self)
    let hosts = ["b": try #require(FleetHostRow(Array("1:5:\(details)".utf8)))]
    #expect(silence.look(hosts, at: now) == [])
    silence.forgetAll()
    #expect(silence.look(hosts, at: now + .seconds(40)) == [])
    #expect(silence.look(hosts, at: now + .seconds(70)) == ["b"])
  }
}
