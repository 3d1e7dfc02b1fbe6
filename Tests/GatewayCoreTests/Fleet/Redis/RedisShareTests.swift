import Testing

@testable import GatewayCore

@Suite struct RedisShareTests {
  @Test func inAClusterEachUpstreamIsAtTheNodeThatHasItsKeys() {
    let rig = RedisRig()
    let shares = ["u", "v"].map { rig.engine.share(of: FleetPlace(fleet: "f", upstream: $0)) }
    let listeners = shares.map { share in
      let listener = FleetEngineListener()
      share.add(listener)
      return listener
    }
    rig.last.open()
    rig.say(RedisRig.login(mode: "cluster"))
    #expect(rig.dialer.transports.count == 3)
    let transports = Array(rig.dialer.transports.suffix(2))
    for transport in transports { transport.open() }
    #expect(
      rig.sent(on: transports[1]) == [
        "ROLE", "INFO server", "INFO persistence", "INFO memory", "HMGET gw:f:{v}:L own", "CLIENT ID",
      ])
    rig.say(RedisRig.login(mode: "cluster", look: "*1\r\n*-1\r\n"), to: transports[0])
    rig.last.open()
    rig.say(RedisRig.login(mode: "cluster", look: "*1\r\n*-1\r\n"))
    #expect(shares[0].server?.address == "r1:6379")
    #expect(listeners.map(\.words) == [[.gained("run")], []])
    // The other one is led on, and reports nothing that would be wrong.
    rig.say(RedisRig.login(mode: "cluster", look: "-MOVED 7 r9:7000\r\n"), to: transports[1])
    for _ in 0..<2 {
      #expect(rig.last.request.host == "r9")
      rig.last.open()
      rig.say(RedisRig.login(run: "nine", mode: "cluster", look: "*1\r\n*-1\r\n"))
    }
    #expect(shares[1].server?.address == "r9:7000")
    #expect(listeners.map(\.words) == [[.gained("run")], [.gained("nine")]])
    #expect(
      rig.reports == [
        .reached(server: "r1:6379", version: "7.0.15"), .reached(server: "r9:7000", version: "7.0.15"),
      ])
  }

  @Test func nodesThatLeadInACircleAreGivenUp() {
    let rig = RedisRig(hosts: ["r1", "r2"])
    let share = rig.engine.share(of: rig.place)
    rig.last.open()
    rig.say(RedisRig.login(mode: "cluster"))
    for hop in 0...5 {
      rig.last.open()
      rig.say(RedisRig.login(mode: "cluster", look: "-MOVED 7 r\(hop + 3):7000\r\n"))
    }
    #expect(rig.last.request.host == "r2")
    #expect(share.failure?.detail == "r7:7000 has given the keys away, to r8:7000")
  }
}
