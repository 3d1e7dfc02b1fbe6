import Testing

@testable import GatewayCore

/// The steps behind the open port, with a server that the test plays.
@Suite struct EngineIOExaminationTests {
  private static let open = #"0{"sid":"s","upgrades":["websocket"],"pingInterval":25000,"pingTimeout":20000}"#

  /// No way is probed, and nothing is dialled by itself.
  private final class NoRoute: RouteProbe {
    func probe(_ request: DialRequest, _ done: @escaping (RouteReport) -> Void) -> any HTTPExchange {
      FakeRequester.none
    }
  }

  private let requester = FakeRequester()
  private let doctor: Doctor

  init() {
    let rig = DirectRig()
    let seams = UpstreamSeams(
      webSockets: rig.dialer, lines: rig.dialer, requester: requester, credentials: rig.credentials,
      timers: rig.timers, time: rig.time, random: FakeRandom(), cryptography: rig.cryptography)
    doctor = Doctor(
      rig.specification(UpstreamURL(scheme: "http", host: "h")), UpstreamKinds.make(seams).all[0],
      seams: DoctorSeams(
        route: NoRoute(), requester: requester, dialer: rig.dialer, credentials: rig.credentials,
        makeKinds: { UpstreamKinds.make(seams) }),
      timers: rig.timers, time: rig.time, limit: .seconds(60), onFinding: { _ in }, onEnd: { _ in })
  }

  @Test func ofNoAnswerMoreIsKeptThanTheWordsOfARefusal() {
    let examination = EngineIOExamination(doctor)
    examination.start()
    while let exchange = requester.all.last(where: \.isPending) {
      exchange.answer(exchange.isPost ? "ok" : Self.open)
    }
    #expect(requester.all.contains(where: \.isPost) && requester.all.contains { !$0.isPost })
    #expect(requester.all.allSatisfy { $0.request.keptLimit == 64 << 10 })
    #expect(doctor.step == .websocket)
  }
}
