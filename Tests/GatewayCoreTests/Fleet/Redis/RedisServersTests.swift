import Testing

@testable import GatewayCore

@Suite struct RedisServersTests {
  @Test func whatEachServerHasAgainstItIsToldOnce() {
    let rig = RedisRig(hosts: ["r1", "r2"])
    for _ in 0..<2 {
      rig.last.open()
      rig.say(RedisRig.login(role: "slave"))
      rig.last.fail(UpstreamFailure(.unreachable, "connection refused"))
      rig.advance(.seconds(2))
    }
    let sentence = "r2:6379: connection refused; r1:6379 is a replica, and only the master takes writes"
    #expect(rig.reports == [.missed(.unreachable, detail: sentence)])
    #expect(rig.engine.failure == UpstreamFailure(.unreachable, sentence))
    rig.gain()
    #expect(rig.reports.dropFirst() == [.reached(server: "r1:6379", version: "7.0.15")])
  }

  @Test func afterALossTheOtherServersAreTriedFirst() {
    let rig = RedisRig(hosts: ["r1", "r2"])
    rig.gain()
    rig.last.fail(UpstreamFailure(.closed, "gone"))
    rig.advance(.milliseconds(200))
    #expect(rig.last.request.host == "r2")
    rig.last.open()
    rig.say(RedisRig.login(role: "slave"))
    #expect(rig.last.request.host == "r1")
  }

  @Test func whatTheLostMasterHasAgainstItIsToldFirst() {
    let rig = RedisRig(hosts: ["r1", "r2", "r3"])
    rig.gain()
    rig.last.fail(UpstreamFailure(.closed, "gone"))
    func round() {
      rig.advance(.seconds(2))
      rig.last.open()
      rig.say(RedisRig.login(role: "slave"))
      rig.last.fail(UpstreamFailure(.timeout, "no answer"))
      rig.last.fail(UpstreamFailure(.unreachable, "connection refused"))
    }
    round()
    let sentence =
      "r1:6379: connection refused; r3:6379: no answer; r2:6379 is a replica, and only the master takes writes"
    #expect(rig.engine.failure == UpstreamFailure(.unreachable, sentence))
    // And so it stays while the next round is under way.
    rig.advance(.seconds(2))
    rig.last.open()
    rig.say(RedisRig.login(role: "slave"))
    #expect(rig.engine.failure == UpstreamFailure(.unreachable, sentence))
  }

  @Test func whereNothingIsReachedItTriesAgain() {
    let rig = RedisRig()
    var rests: [Int] = []
    for round in 1...7 {
      #expect(rig.dialer.transports.count == round)
      rig.last.fail(UpstreamFailure(.unreachable, "connection refused"))
      var milliseconds = 0
      while rig.dialer.transports.count == round {
        rig.advance(.milliseconds(1))
        milliseconds += 1
      }
      rests.append(milliseconds)
    }
    #expect(rig.engine.failure == UpstreamFailure(.unreachable, "r1:6379: connection refused"))
    #expect(rests.first.map { (75...126).contains($0) } == true, "\(rests)")
    #expect(rests.allSatisfy { $0 <= 1_251 }, "\(rests)")
    #expect(rests.last.map { $0 >= 750 } == true, "\(rests)")
  }

  @Test func aMasterWithoutReplicasIsPassedOverWhereCopiesAreWanted() {
    let rig = RedisRig { $0.copies = 1 }
    rig.last.open()
    rig.say(RedisRig.login())
    #expect(rig.dialer.transports.count == 1)
    #expect(rig.engine.failure?.detail == "r1:6379 has 0 replicas, and the fleet wants 1 that confirm")
  }

  @Test func whoWaitsForAServerHearsThatTheReasonIsAnotherNow() {
    let rig = RedisRig()
    rig.last.fail(UpstreamFailure(.unreachable, "connection refused"))
    #expect(rig.listener.misses == 1)
    rig.advance(.seconds(2))
    rig.last.open()
    rig.say(RedisRig.login(role: "slave"))
    #expect(rig.listener.misses == 2)
    #expect(rig.engine.failure?.detail == "r1:6379 is a replica, and only the master takes writes")
  }

  @Test func aMasterWithoutItsReplicasIsLeftForTheOneThatHasThem() {
    let rig = RedisRig(hosts: ["r1", "r2", "r3"]) { $0.copies = 1 }
    rig.gain(replicas: 1)
    let calls = rig.calls
    func beat() {
      rig.engine.run(FleetBeat(place: rig.place, own: FleetOwn(term: 1, host: "a"))) { _ in }
      rig.advance(.zero)
      rig.say(":1\r\n:0\r\n", to: calls)
    }
    beat()
    let sentence = "r1:6379 has 0 replicas that confirm, and `copies` wants 1"
    #expect(rig.engine.refusal(of: rig.place)?.detail == sentence)
    #expect(rig.last.request.host == "r2")
    rig.last.open()
    rig.say(RedisRig.login(run: "two"))
    #expect(rig.last.request.host == "r3")
    rig.last.open()
    rig.say(RedisRig.login(role: "slave"))
    let count = rig.dialer.transports.count
    beat()
    #expect(rig.dialer.transports.count == count)
    #expect(rig.engine.server?.address == "r1:6379")
    // A failover gives the replicas to the second.
    rig.advance(.milliseconds(1_001))
    beat()
    #expect(rig.last.request.host == "r2")
    rig.last.open()
    rig.say(RedisRig.login(run: "two", replicas: 1))
    rig.advance(.milliseconds(200))
    #expect(rig.engine.failure?.detail == "r1:6379 has too few replicas, and r2:6379 has enough")
    #expect(rig.last.request.host == "r2")
    rig.gain(run: "two", replicas: 1)
    #expect(rig.engine.server?.address == "r2:6379")
  }
}
