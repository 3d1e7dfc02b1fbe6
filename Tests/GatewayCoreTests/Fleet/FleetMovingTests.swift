import Testing

@testable import GatewayCore

@Suite struct FleetMovingTests {
  private let scene = FleetScene()
  private let link: FleetLink

  init() {
    link = FleetLink(scene.settings, engine: scene.engine, timers: scene.timers)
    scene.turn(by: .milliseconds(10))
  }

  private final class Heard { var result: Result<FleetMoving.Outcome, FleetOrderProblem>? }

  private func move(to host: String?, _ heard: Heard) -> FleetMoving {
    let moving = FleetMoving(link, to: host)
    moving.start { heard.result = $0 }
    scene.settle()
    return moving
  }

  private func problem(to host: String?) -> FleetOrderProblem? {
    let heard = Heard()
    let moving = move(to: host, heard)
    defer { moving.cancel() }
    guard case .failure(let problem) = heard.result else { return nil }
    return problem
  }

  private func join(_ host: String, mayHold: Bool = true) {
    scene.run(FleetJoin(place: scene.place, host: host, life: 0, details: FleetHostDetails(mayHold: mayHold)))
  }

  /// The present holder gives the lease back, as with its next beat.
  private func release(_ own: FleetOwn) -> String? {
    let next = scene.run(FleetBeat(place: scene.place, own: own))?.next
    scene.run(FleetRelease(place: scene.place, own: own))
    return next
  }

  @Test func theNamedHostHasItInTheEnd() {
    join("b")
    join("c")
    let own = scene.take("b")
    let heard = Heard()
    let moving = move(to: "c", heard)
    #expect(heard.result == nil)
    #expect(release(own) == "c")
    #expect(scene.take("a").term == 0)
    #expect(scene.take("c").term == 2)
    scene.turn(by: .seconds(1))
    #expect(heard.result == .success(FleetMoving.Outcome(own: FleetOwn(term: 2, host: "c"))))
    _ = moving
  }

  @Test func withoutANameAnyOtherHostHasIt() {
    join("b")
    let own = scene.take("b")
    let heard = Heard()
    let moving = move(to: nil, heard)
    #expect(release(own) == "*")
    #expect(scene.take("a").term == 2)
    scene.turn(by: .seconds(1))
    #expect(heard.result == .success(FleetMoving.Outcome(own: FleetOwn(term: 2, host: "a"))))
    _ = moving
  }

  @Test func whatCannotBeIsSaidBeforeAnythingIsDone() {
    #expect(problem(to: nil) == .neverHeld)
    join("c", mayHold: false)
    let own = scene.take("a")
    #expect(problem(to: nil) == .nobodyElse)
    #expect(problem(to: "c") == .mayNotHold)
    #expect(problem(to: "d") == .unknownHost(["a", "c"]))
    #expect(scene.run(FleetBeat(place: scene.place, own: own))?.next == "")
    join("b")
    scene.run(FleetAlive(place: scene.place, host: "b", life: 1, details: FleetHostDetails()))
    #expect(problem(to: "b") == nil)
    for _ in 0..<12 { scene.turn(by: .seconds(3)) }
    #expect(problem(to: "b") == .isSilent)
  }

  @Test func aMoveToTheHostThatHasTheLinkAlreadyIsNoError() {
    join("b")
    let own = scene.take("b")
    let heard = Heard()
    let moving = move(to: "b", heard)
    #expect(heard.result == .success(FleetMoving.Outcome(own: own, hadIt: true)))
    #expect(scene.run(FleetBeat(place: scene.place, own: own))?.next == "")
    _ = moving
  }

  @Test func aMoveToAHostThatIsGivingTheLinkToAnotherOneSaysSo() {
    join("b")
    join("c")
    let own = scene.take("b")
    scene.run(FleetMove(place: scene.place, own: own, host: "c"))
    #expect(problem(to: "b") == .isToGo("c"))
    #expect(scene.run(FleetBeat(place: scene.place, own: own))?.next == "c")
    let error = LocalError(FleetOrderProblem.isToGo("c"), of: "chat", to: "b")
    #expect(error.message.hasPrefix("b has the link of 'chat' and is giving it to c, as was ordered before;"))
  }

  @Test func aMoveToAHolderThatHasDiedIsNotSaidToBeDone() {
    join("b")
    scene.take("b")
    for _ in 0..<12 { scene.turn(by: .seconds(3)) }
    #expect(problem(to: "b") == .isSilent)
  }

  @Test func aHostThatWasStoppedInOrderIsNoHostToMoveTo() {
    scene.take("a")
    join("b")
    var stopped = FleetHostDetails(mayHold: false)
    stopped.isStopped = true
    scene.run(FleetAlive(place: scene.place, host: "b", life: 1, details: stopped))
    #expect(problem(to: "b") == .isStopped)
    #expect(problem(to: nil) == .nobodyElse)
  }

  @Test func aMoveWithoutTheRightToItIsNotSaidToBeALostConnection() {
    join("b")
    scene.take("a")
    scene.engine.refused = [.move]
    #expect(problem(to: "b") == .mayNotMove("this user has no permissions"))
    let error = LocalError(FleetOrderProblem.mayNotMove("NOPERM no"), of: "chat", to: "b")
    #expect(error.kind == .permissionDenied)
    #expect(
      error.message
        == "This host's Redis user may not move the link of 'chat' (NOPERM no); say it at a host that may hold, or give the user the rights of one."
    )
  }

  @Test func aMoveToAHostWithOtherSettingsIsRefusedAndNamesThem() {
    let own = scene.take("a")
    scene.run(FleetBeat(place: scene.place, own: own, agreement: FleetAgreement("parser=1 url=1")))
    var details = FleetHostDetails()
    details.agreement = FleetAgreement("parser=1 url=2")
    scene.run(FleetJoin(place: scene.place, host: "b", life: 0, details: details))
    #expect(problem(to: "b") == .differs(["url"]))
    #expect(problem(to: nil) == .nobodyElse)
    #expect(scene.run(FleetBeat(place: scene.place, own: own))?.next == "")
    let error = LocalError(FleetOrderProblem.differs(["url"]), of: "chat", to: "b")
    #expect(error.kind == .invalidParams && error.message.contains("b has upstream.chat.url otherwise than the fleet"))
  }

  @Test func aHostThatWasNotNamedIsNoSuccess() {
    join("b")
    join("c")
    scene.take("b")
    let heard = Heard()
    let moving = move(to: "c", heard)
    // It was late, because the named one did not take it.
    let seen = FleetSight(own: "1@b", beat: "0")
    scene.run(FleetTake(place: scene.place, host: "d", seen: seen, run: "run1", isLate: true))
    scene.turn(by: .seconds(1))
    #expect(heard.result == .failure(.tookOther("d")))
    _ = moving
  }

  @Test func aHolderThatHasItAgainIsNoSuccess() {
    join("b")
    join("c")
    let own = scene.take("b")
    let heard = Heard()
    let moving = move(to: nil, heard)
    #expect(release(own) == "*")
    scene.take("b")
    scene.turn(by: .seconds(1))
    #expect(heard.result == .failure(.cameBack("b")))
    _ = moving
  }

  /// A host that says that it lives when it is asked.
  private var answering: FleetHostDetails {
    var details = FleetHostDetails()
    details.answers = true
    return details
  }

  @Test(arguments: ["b", nil] as [String?])
  func aLinkStaysWhereItIsWhereTheOtherHostWasKilledAMomentAgo(_ host: String?) {
    scene.run(FleetJoin(place: scene.place, host: "b", life: 0, details: answering))
    let own = scene.take("a")
    let heard = Heard()
    let moving = move(to: host, heard)
    #expect(heard.result == nil)
    scene.turn(by: .milliseconds(2_500))
    #expect(heard.result == .failure(.noAnswer))
    #expect(scene.run(FleetBeat(place: scene.place, own: own))?.next == "")
    let error = LocalError(FleetOrderProblem.noAnswer, of: "chat", to: host)
    #expect(error.message.hasPrefix("The link of 'chat' stays where it is: \(host ?? "no other host") "))
    _ = moving
  }

  @Test func aHostThatAnswersWhenItIsAskedHasTheLinkInTheEnd() {
    scene.run(FleetJoin(place: scene.place, host: "b", life: 0, details: answering))
    let own = scene.take("a")
    let heard = Heard()
    let moving = move(to: "b", heard)
    #expect(scene.store.text(scene.place.key(.lease), "ask") == "b")
    #expect(scene.run(FleetBeat(place: scene.place, own: own))?.next == "")
    scene.run(FleetAlive(place: scene.place, host: "b", life: 1, details: answering))
    scene.turn(by: .milliseconds(200))
    #expect(release(own) == "b")
    scene.take("b")
    scene.turn(by: .seconds(1))
    #expect(heard.result == .success(FleetMoving.Outcome(own: FleetOwn(term: 2, host: "b"))))
    _ = moving
  }

  @Test(arguments: ["a", "*", "c"])
  func aHostThatIsAskedSaysThatItLives(_ asked: String) throws {
    let own = scene.take("b")
    scene.turn(by: .seconds(2))
    let hosts = scene.place.key(.hosts)
    let before = try #require(scene.store.hostRow(hosts, "a")?.beat)
    scene.run(FleetMove(place: scene.place, own: own, host: asked == "*" ? nil : asked, isQuestion: true))
    scene.turn(by: .milliseconds(1_100))
    #expect(scene.store.hostRow(hosts, "a")?.beat == (asked == "c" ? before : before + 1))
    #expect(scene.store.text(scene.place.key(.lease), "next") == nil)
  }

  @Test func aHolderThatDoesNotLeaveIsWaitedForInVain() {
    join("b")
    join("c")
    scene.take("b")
    let heard = Heard()
    let moving = move(to: "c", heard)
    scene.turn(by: .seconds(15))
    #expect(heard.result == .failure(.tooLate))
    _ = moving
  }

  @Test func withoutTheEngineItIsNotReached() {
    scene.engine.way.isOpen = false
    scene.engine.cut()
    #expect(problem(to: nil) == .notReached(UpstreamFailure(.closed, "the link to the store broke")))
  }
}
