import Testing

@testable import GatewayCore

/// What the doctor makes of credentials, of the way and of the request, with a server that the test plays.
@Suite struct DoctorTests {
  /// A way that ends as the test says.
  private final class PlayedRoute: RouteProbe {
    private var done: ((RouteReport) -> Void)?

    func probe(_ request: DialRequest, _ done: @escaping (RouteReport) -> Void) -> any HTTPExchange {
      self.done = done
      return FakeRequester.none
    }

    func end(_ end: RouteReport.End? = nil) { done?(RouteReport(address: "192.0.2.1", end: end)) }
  }

  private let rig = DirectRig()
  private let route = PlayedRoute()

  /// A doctor that looks at the way to a plain WebSocket.
  private func doctor(
    _ url: UpstreamURL = DirectRig.socket, _ change: (inout UpstreamSettings) -> Void = { _ in }
  ) throws -> Doctor {
    let seams = UpstreamSeams(
      webSockets: rig.dialer, lines: rig.dialer, requester: nil, credentials: rig.credentials, timers: rig.timers,
      time: rig.time, random: FakeRandom(), cryptography: rig.cryptography)
    let kind = UpstreamKinds.make(seams).all.first { $0.traits.schemes.contains(url.scheme) }
    let doctor = Doctor(
      rig.specification(url, change), try #require(kind),
      seams: DoctorSeams(
        route: route, requester: FakeRequester(), dialer: rig.dialer, credentials: rig.credentials,
        makeKinds: { UpstreamKinds.make(seams) }),
      timers: rig.timers, time: rig.time, limit: .seconds(60), onFinding: { _ in }, onEnd: { _ in })
    doctor.awaitTurn()
    doctor.start()
    return doctor
  }

  private static let key = SecretMember(name: "Authorization", prefix: "Bearer ", source: .file("/k"))

  @Test func aHeaderWhoseFileIsMissingIsToldBeforeTheServerIsAskedWithoutIt() throws {
    let doctor = try doctor { $0.headerSources = [Self.key] }
    route.end()
    #expect(doctor.findings.map(\.code) == ["name.ok", "tcp.ok", "proxy.none", "tls.none", "auth.missing"])
    #expect(
      doctor.findings.last?.advice
        == "Repair the source of the credentials: the file or command that `headers` names.")
    #expect(rig.dialer.transports.isEmpty)
  }

  @Test func aHeaderFromAFileIsACredentialThatIsAccepted() throws {
    rig.credentials.files["/k"] = "good"
    let doctor = try doctor { $0.headerSources = [Self.key] }
    route.end()
    rig.transport.open()
    rig.advance(.milliseconds(1))
    #expect(doctor.findings.suffix(2).map(\.code) == ["handshake.ok", "auth.ok"])
  }

  @Test func withoutAnyCredentialsNoneAreAccepted() throws {
    let doctor = try doctor()
    route.end()
    rig.transport.open()
    rig.advance(.milliseconds(1))
    #expect(doctor.findings.suffix(2).map(\.code) == ["handshake.ok", "auth.none"])
  }

  @Test func credentialsThatCannotBeUsedHaveNoSourceToRepair() throws {
    let doctor = try doctor()
    route.end()
    rig.transport.fail(UpstreamFailure(.auth, "the router asked for a method that was not offered"))
    rig.advance(.milliseconds(1))
    #expect(doctor.findings.last?.code == "auth.unusable")
    #expect(doctor.findings.last?.seen == "The router asked for a method that was not offered.")
  }

  @Test(arguments: [
    (401, "handshake.forbidden"), (403, "handshake.forbidden"), (404, "handshake.http"), (429, "handshake.busy"),
    (502, "handshake.server_error"), (503, "handshake.busy"),
  ])
  func aServerThatTurnsUsAwayIsNoWrongServer(_ status: Int, _ code: String) throws {
    let doctor = try doctor()
    route.end()
    rig.transport.fail(UpstreamFailure(.http, "the server answered HTTP \(status)", status: status))
    rig.advance(.milliseconds(1))
    #expect(doctor.findings.last?.code == code)
  }

  @Test(arguments: [
    (RouteReport.Phase.proxy, "proxy.file", "proxy_password_file"), (.tls, "tls.file", "tls.key_password_file"),
  ])
  func aPasswordForTheWayThatCannotBeReadIsNoProblemOfTheNetwork(
    _ phase: RouteReport.Phase, _ code: String, _ setting: String
  ) throws {
    let doctor = try doctor()
    route.end(RouteReport.End(phase, UpstreamFailure(.auth, "the password file /p cannot be opened")))
    #expect(doctor.findings.map(\.code) == [code])
    #expect(doctor.findings[0].seen == "The password file /p cannot be opened.")
    #expect(
      doctor.findings[0].advice
        == "Repair the file that `\(setting)` names; the daemon has to be able to read it.")
  }
}
