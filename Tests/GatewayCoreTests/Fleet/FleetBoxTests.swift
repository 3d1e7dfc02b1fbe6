import Testing

@testable import GatewayCore

@Suite struct FleetBoxTests {
  private let scene = FleetScene()
  private let link: FleetLink
  private final class Notes { var all: [String] = [] }
  private let notes = Notes()

  init() {
    link = FleetLink(scene.settings, engine: scene.engine, timers: scene.timers)
    let notes = notes
    link.box.onNews = { news in
      switch news {
      case .boxed(let number): notes.all.append("boxed \(number)")
      case .refused(let number, let refusal): notes.all.append("refused \(number): \(refusal)")
      case .adopted(let number): notes.all.append("adopted \(number)")
      case .returned(let number): notes.all.append("returned \(number)")
      case .found(let name, _): notes.all.append("found \(name)")
      case .ended(let name, let fields): notes.all.append("\(fields.text("s") ?? "") \(name)")
      case .outcome(let number, let fields): notes.all.append("\(fields.text("s") ?? "") \(number)")
      }
    }
    scene.settle()
  }

  private var box: FleetKey { scene.place.key(.box(host: "a")) }
  private var adopted: FleetKey { scene.place.key(.adopted) }

  private func takeNotes() -> [String] {
    scene.settle()
    defer { notes.all = [] }
    return notes.all
  }

  private func adopt() {
    let row = scene.store.hostRow(scene.place.key(.hosts), "a")
    scene.run(
      FleetAdopt(
        place: scene.place, own: scene.take("b"), host: "a", life: row?.life ?? 0, beat: row?.beat ?? 0))
  }

  private var sent: FleetBoxRow {
    var fields = FleetFields()
    fields.add("s", "sent")
    return .finished(fields)
  }

  private func finish(_ key: FleetKey, _ name: String) { scene.store.set(key, name, sent.bytes) }

  /// The one that holds says what became of a send that was adopted.
  private func finishAdopted(_ id: String) {
    let own = FleetOwn(term: 1, host: "b")
    scene.run(FleetDone(place: scene.place, own: own, host: "a", outcomes: [id: sent]))
  }

  @Test func aSendIsBoxedAndRemovedWhenItIsFinished() {
    link.box.put(7, FleetFields())
    #expect(takeNotes() == ["boxed 7"])
    #expect(scene.store.rows(of: box).keys.sorted() == ["7"])
    link.box.finish(7)
    scene.settle()
    #expect(scene.store.rows(of: box) == [:])
  }

  @Test func aSendThatCouldNotBeBoxedIsPutAgain() {
    scene.engine.way.isOpen = false
    scene.engine.cut()
    link.box.put(7, FleetFields())
    scene.turn(by: .seconds(1))
    #expect(takeNotes() == [])
    scene.engine.way.isOpen = true
    scene.turn(by: .seconds(1))
    #expect(takeNotes() == ["boxed 7"])
  }

  @Test func whoWasTakenForDeadLeavesItsSendsToTheFleet() {
    link.box.put(7, FleetFields())
    link.box.put(8, FleetFields())
    _ = takeNotes()
    adopt()
    finishAdopted("8")
    scene.turn(by: .seconds(11))
    #expect(takeNotes() == ["adopted 7", "sent 8"])
    finishAdopted("7")
    scene.turn(by: .seconds(11))
    #expect(takeNotes() == ["sent 7"])
    #expect(scene.store.rows(of: adopted) == [:] && scene.store.rows(of: box) == [:])
  }

  @Test func anOutcomeThatCouldNotBeRemovedIsNotThatOfTheSendThatIsSentAgain() {
    var fields = FleetFields()
    fields.add("id", "x-7")
    link.box.put(7, fields)
    _ = takeNotes()
    adopt()
    finishAdopted("x-7")
    scene.engine.isRemovalRefused = true
    scene.turn(by: .seconds(11))
    #expect(takeNotes() == ["sent 7"])
    scene.engine.way.isOpen = false
    scene.engine.cut()
    scene.settle()
    link.box.put(8, fields)
    scene.engine.isRemovalRefused = false
    scene.engine.way.isOpen = true
    scene.turn(by: .seconds(11))
    #expect(takeNotes() == ["boxed 8"])
    #expect(scene.store.rows(of: box) == ["x-7": FleetBoxRow.waiting(fields).bytes])
  }

  @Test func whatBecameOfASendWhileItsHostTookNoPartIsHeard() {
    scene.engine.way.isOpen = false
    scene.engine.cut()
    scene.settle()
    var (fields, names) = (FleetFields(), SortedSet<String>())
    fields.add("id", "x-7")
    names.insert("x-7")
    link.box.drop(names)
    link.box.put(7, fields)
    finish(box, "x-7")
    scene.engine.way.isOpen = true
    scene.turn(by: .seconds(11))
    #expect(takeNotes() == ["sent 7"])
    #expect(scene.store.rows(of: box) == [:])
  }

  @Test func whatAnEmptiedEngineHasForgottenIsBoxedAgain() {
    link.box.put(7, FleetFields())
    _ = takeNotes()
    scene.store.flush()
    scene.store.restart()
    scene.turn(by: .seconds(11))
    #expect(takeNotes() == ["boxed 7"])
    #expect(scene.store.rows(of: box).keys.sorted() == ["7"])
  }

  @Test func whatWaitsInTheBoxIsNotReadAgainOnANewConnection() {
    for number in 1...100 as ClosedRange<UInt64> { link.box.put(number, FleetFields()) }
    _ = takeNotes()
    scene.engine.read = []
    scene.engine.way.isOpen = false
    scene.engine.cut()
    scene.settle()
    scene.engine.way.isOpen = true
    scene.turn(by: .seconds(11))
    #expect(link.box.isSettled && takeNotes() == [])
    #expect(!scene.engine.read.contains(box))
  }

  /// It has followed another server, and is the master once more.
  @Test func whatTheSameServerHasLostIsBoxedAgain() {
    link.box.put(7, FleetFields())
    _ = takeNotes()
    scene.engine.way.isOpen = false
    scene.engine.cut()
    scene.settle()
    scene.store.remove(["7"], of: box)
    scene.engine.way.isOpen = true
    scene.turn(by: .seconds(11))
    #expect(takeNotes() == ["boxed 7"])
    #expect(scene.store.rows(of: box).keys.sorted() == ["7"])
  }

  @Test func whatTheFleetHasLostIsItsHostsAgain() {
    link.box.put(7, FleetFields())
    _ = takeNotes()
    adopt()
    scene.turn(by: .seconds(11))
    #expect(takeNotes() == ["adopted 7"])
    scene.store.remove(["a/7"], of: adopted)
    scene.turn(by: .seconds(11))
    #expect(takeNotes() == ["returned 7", "boxed 7"])
  }

  @Test func aHostWithoutADiskFindsItsSends() {
    var fields = FleetFields()
    fields.add("b", "x")
    scene.store.set(box, "5", FleetBoxRow.waiting(fields).bytes)
    finish(box, "6")
    adopt()
    scene.store.set(box, "9", FleetBoxRow.waiting(fields).bytes)
    scene.turn(by: .seconds(11))
    #expect(takeNotes() == ["sent 6", "found 9"])
    #expect(scene.store.rows(of: box).keys.sorted() == ["9"])
  }

  @Test func whatThisHostCannotKeepStaysInTheEngineAndIsFoundAgain() {
    let (box, notes) = (link.box, notes)
    box.onNews = { [unowned box] in
      guard case .found(let name, _) = $0 else { return }
      notes.all.append(name)
      box.leave(name)
    }
    var fields = FleetFields()
    fields.add("b", "x")
    adopt()
    for name in ["x-5", "x-9"] { scene.store.set(self.box, name, FleetBoxRow.waiting(fields).bytes) }
    scene.turn(by: .seconds(11))
    #expect(takeNotes() == ["x-5", "x-9"])
    scene.turn(by: .seconds(10))
    #expect(takeNotes() == ["x-5"])
    box.findLeft()
    #expect(takeNotes() == ["x-5", "x-9"])
    #expect(scene.store.rows(of: self.box).keys.sorted() == ["x-5", "x-9"])
  }

  @Test func aSendThatIsWithheldIsInTheEngineNoMore() {
    link.box.put(7, FleetFields())
    #expect(takeNotes() == ["boxed 7"])
    link.box.withhold(7, FleetFields(), .spare)
    #expect(takeNotes() == [])
    #expect(scene.store.rows(of: box) == [:])
    link.box.put(7, FleetFields())
    #expect(takeNotes() == ["boxed 7"])
  }

  /// Each row of the box, with the byte that says what it is.
  private var kinds: [String: String] {
    scene.store.rows(of: box).mapValues { String(decoding: $0.prefix(1), as: UTF8.self) }
  }

  @Test func aWithheldSendThatTheEngineAloneHasStaysThereAndIsNotAdopted() {
    link.box.put(7, FleetFields())
    _ = takeNotes()
    link.box.withhold(7, FleetFields(), .only)
    #expect(takeNotes() == ["boxed 7"])
    #expect(kinds == ["7": "-"])
    adopt()
    scene.turn(by: .seconds(11))
    #expect(kinds == ["7": "-"] && scene.store.rows(of: adopted) == [:])
    link.box.put(7, FleetFields())
    #expect(takeNotes().last == "boxed 7")
    #expect(kinds == ["7": "+"])
    link.box.withhold(7, FleetFields(), .only)
    scene.settle()
    link.box.finish(7)
    scene.settle()
    #expect(kinds == [:])
  }

  @Test func whatBecameOfASendThatIsSetAsideIsHeardWithTheNextSignOfLife() {
    link.box.put(7, FleetFields())
    link.box.withhold(7, FleetFields(), .only)
    scene.settle()
    #expect(kinds == ["7": "-"])
    _ = takeNotes()
    scene.turn(by: .seconds(11))
    #expect(takeNotes() == [])
    finish(box, "7")
    scene.turn(by: .seconds(11))
    #expect(takeNotes() == ["sent 7"])
    #expect(scene.store.rows(of: box) == [:])
  }

  @Test func aWithheldSendThatAnEmptiedEngineHasForgottenIsThereAgain() {
    link.box.withhold(7, FleetFields(), .only)
    scene.settle()
    #expect(kinds == ["7": "-"])
    scene.store.flush()
    scene.store.restart()
    scene.turn(by: .seconds(11))
    #expect(kinds == ["7": "-"])
  }

  @Test func aSendThatMayBeSentAgainIsPutThoughTheEngineHasItAsWithheld() {
    link.box.put(7, FleetFields())
    _ = takeNotes()
    scene.store.set(box, "7", FleetBoxRow.withheld(FleetFields()).bytes)
    scene.store.restart()
    scene.turn(by: .seconds(11))
    #expect(takeNotes() == ["boxed 7"])
    #expect(kinds == ["7": "+"])
  }

  @Test func aWithheldSendThatTheEngineDidNotTakeIsAskedForAgain() {
    link.box.put(7, FleetFields())
    _ = takeNotes()
    scene.engine.refused = [.put]
    link.box.withhold(7, FleetFields(), .only)
    scene.settle()
    #expect(kinds == ["7": "+"])
    scene.engine.refused = []
    scene.turn(by: .seconds(11))
    #expect(kinds == ["7": "-"])
  }

  @Test func whatBecameOfASendIsHeardThoughItWasWithheldMeanwhile() {
    link.box.put(7, FleetFields())
    link.box.put(8, FleetFields())
    _ = takeNotes()
    scene.engine.way.isOpen = false
    scene.engine.cut()
    scene.settle()
    adopt()
    finishAdopted("7")
    link.box.withhold(7, FleetFields(), .spare)
    link.box.withhold(8, FleetFields(), .spare)
    scene.engine.way.isOpen = true
    scene.turn(by: .seconds(11))
    #expect(takeNotes() == ["sent 7", "adopted 8"])
    finishAdopted("8")
    scene.turn(by: .seconds(11))
    #expect(takeNotes() == ["sent 8"])
    #expect(scene.store.rows(of: box) == [:])
  }

  @Test func whatTheFleetHasLostOfAWithheldSendIsPutWholeAgain() {
    link.box.put(7, FleetFields())
    _ = takeNotes()
    adopt()
    var fields = FleetFields()
    fields.add("b", "x")
    link.box.withhold(7, fields, .spare)
    scene.turn(by: .seconds(11))
    #expect(takeNotes() == ["adopted 7"])
    scene.store.remove(["a/7"], of: adopted)
    scene.turn(by: .seconds(11))
    #expect(takeNotes() == ["returned 7", "boxed 7"])
    #expect(scene.store.rows(of: box) == ["7": FleetBoxRow.waiting(fields).bytes])
  }

  @Test func whatTheEngineDidNotRemoveOfAWithheldSendItIsAskedToRemoveAgain() {
    link.box.put(7, FleetFields())
    _ = takeNotes()
    scene.engine.isRemovalRefused = true
    link.box.withhold(7, FleetFields(), .spare)
    scene.turn(by: .seconds(11))
    #expect(scene.store.rows(of: box).keys.sorted() == ["7"])
    scene.engine.isRemovalRefused = false
    scene.turn(by: .seconds(11))
    #expect(scene.store.rows(of: box) == [:] && takeNotes() == [])
  }

  @Test func aRowWhoseRemovalWasNotHeardIsRemovedWhenTheEngineIsBack() {
    link.box.put(7, FleetFields())
    #expect(takeNotes() == ["boxed 7"])
    scene.engine.way.isOpen = false
    scene.engine.cut()
    scene.settle()
    link.box.finish(7)
    scene.turn(by: .seconds(1))
    #expect(scene.store.rows(of: box).keys.sorted() == ["7"])
    scene.engine.way.isOpen = true
    scene.turn(by: .seconds(1))
    #expect(scene.store.rows(of: box) == [:])
  }

  /// So many rows are put, and end while the engine is not reached; it can be reached again.
  private func finishWhileTheEngineIsAway(_ count: UInt64) {
    for number in 1...count { link.box.put(number, FleetFields()) }
    _ = takeNotes()
    scene.engine.way.isOpen = false
    scene.engine.cut()
    scene.settle()
    for number in 1...count { link.box.finish(number) }
    scene.engine.largestRemoval = 0
    scene.engine.way.isOpen = true
  }

  @Test func thousandsOfRowsThatEndedWhileTheEngineWasAwayAreRemovedInPortions() {
    finishWhileTheEngineIsAway(UInt64(FleetRemoval.portion * 2 + 1))
    scene.turn(by: .seconds(1))
    #expect(scene.store.rows(of: box) == [:])
    #expect(scene.engine.largestRemoval == FleetRemoval.portion)
  }

  @Test func aRowThatIsPutAgainWhileThousandsAreRemovedStays() {
    finishWhileTheEngineIsAway(UInt64(FleetRemoval.portion * 2))
    while scene.engine.largestRemoval == 0, let next = scene.timers.nextDeadline {
      if next > scene.time.now { scene.time.advance(by: next - scene.time.now) }
      scene.timers.fire()
    }
    // By its name it is the last one.
    link.box.put(999, FleetFields())
    scene.turn(by: .seconds(1))
    #expect(scene.store.rows(of: box).keys.sorted() == ["999"])
  }

  @Test func moreRowsThanAreAskedForAtOnceAreAllLookedFor() {
    let count = UInt64(FleetBox.portion * 2 + 1)
    for number in 1...count { link.box.put(number, FleetFields()) }
    _ = takeNotes()
    adopt()
    scene.turn(by: .seconds(11))
    #expect(takeNotes() == (1...count).map { "adopted \($0)" })
    for number in 1...count { finishAdopted("\(number)") }
    scene.turn(by: .seconds(11))
    #expect(takeNotes() == (1...count).map { "sent \($0)" })
    #expect(scene.store.rows(of: adopted) == [:] && scene.store.rows(of: box) == [:])
  }

  @Test func whereSendsAreIsAskedAgainUntilTheEngineLetsItBeKnown() {
    link.box.put(7, FleetFields())
    _ = takeNotes()
    scene.engine.refused = [.find]
    scene.store.restart()
    scene.turn(by: .seconds(5))
    #expect(!link.box.isSettled)
    scene.engine.refused = []
    scene.turn(by: .seconds(2))
    #expect(link.box.isSettled)
  }

  @Test func whatTheEngineDidNotRemoveItIsAskedToRemoveAgain() {
    link.box.put(7, FleetFields())
    _ = takeNotes()
    scene.engine.isRemovalRefused = true
    link.box.finish(7)
    scene.turn(by: .seconds(11))
    #expect(scene.store.rows(of: box).keys.sorted() == ["7"])
    scene.engine.isRemovalRefused = false
    scene.turn(by: .seconds(11))
    #expect(scene.store.rows(of: box) == [:])
  }

  @Test func anOutcomeThatComesBetweenTwoLooksIsNotTakenForALoss() {
    link.box.put(7, FleetFields())
    _ = takeNotes()
    adopt()
    scene.turn(by: .seconds(11))
    #expect(takeNotes() == ["adopted 7"])
    scene.engine.way.delay = 5...5
    link.box.look()
    // The first of the two questions is on its way back.
    scene.turn(by: .milliseconds(7))
    finishAdopted("7")
    scene.turn(by: .seconds(1))
    #expect(takeNotes() == ["sent 7"])
  }

  @Test func aSendIsPutOnceThoughItIsLookedForMeanwhile() {
    scene.engine.way.delay = 5...5
    link.box.put(7, FleetFields())
    for _ in 1...3 { link.box.look() }
    #expect(scene.engine.pendingCount == 1)
  }

  @Test func aCopyThatIsNotConfirmedInTimeIsPutAgainSoon() {
    scene.engine.copies = 1
    scene.engine.isCopied = false
    link.box.put(7, FleetFields())
    #expect(takeNotes() == [])
    scene.engine.isCopied = true
    scene.turn(by: .seconds(2))
    #expect(takeNotes() == ["boxed 7"])
  }

  @Test func aSendThatMayBePutAgainIsPutThoughLaterOnesAreThereAlready() {
    for number in [6, 7, 9] as [UInt64] { link.box.put(number, FleetFields()) }
    #expect(takeNotes() == ["boxed 6", "boxed 7", "boxed 9"])
    link.box.withhold(7, FleetFields(), .spare)
    link.box.put(7, FleetFields())
    link.box.put(8, FleetFields())
    #expect(takeNotes() == ["boxed 7", "boxed 8"])
  }

  @Test func whatTheEngineHasNoRoomForIsPutAgainInItsOrderWithTheNextSignOfLife() {
    scene.engine.refused = [.put]
    for number in 1...3 as ClosedRange<UInt64> { link.box.put(number, FleetFields()) }
    #expect(takeNotes().count == 3)
    scene.engine.refused = []
    link.box.put(4, FleetFields())
    #expect(takeNotes() == ["boxed 4"])
    scene.turn(by: .seconds(11))
    #expect(takeNotes() == ["boxed 1", "boxed 2", "boxed 3"])
  }

  @Test func whatWasAdoptedIsFoundThoughItsHostPutsAllThatItHasInPortions() {
    let scene = FleetScene()
    for number in [7, 8] { scene.store.set(adopted, "a/\(number)", FleetBoxRow.waiting(FleetFields()).bytes) }
    let link = FleetLink(scene.settings, engine: scene.engine, timers: scene.timers)
    var news: [FleetBox.News] = []
    link.box.onNews = { news.append($0) }
    link.box.beginFilling()
    link.box.put(7, FleetFields())
    scene.turn(by: .seconds(1))
    #expect(link.life != nil && link.speakingLife == nil)
    link.box.put(8, FleetFields())
    link.box.filled()
    scene.turn(by: .seconds(1))
    #expect(news == [.boxed(7), .adopted(7), .boxed(8), .adopted(8)])
    #expect(scene.store.rows(of: box) == [:])
  }

  @Test func manySendsArePutInPortions() {
    scene.engine.way.delay = 5...5
    let count = FleetBox.putLimit.count
    for number in 1...UInt64(count * 3) { link.box.put(number, FleetFields()) }
    #expect(scene.engine.pendingCount == count)
    scene.turn(by: .seconds(1))
    #expect(takeNotes().count == count * 3)
  }

  @Test func aRowIsKnownByItsName() {
    var fields = FleetFields()
    fields.add("id", "x-7")
    link.box.put(7, fields)
    _ = takeNotes()
    #expect(scene.store.rows(of: box).keys.sorted() == ["x-7"])
    #expect(link.box.name(of: 7) == "x-7")
    #expect(link.box.name(of: 8) == nil)
  }

  @Test func nothingIsSaidBeforeItIsKnownWhereEachSendIs() {
    #expect(link.speakingLife == 1)
    link.box.put(7, FleetFields())
    scene.settle()
    scene.engine.way.delay = 20...20
    scene.store.restart()
    scene.turn(by: .milliseconds(30))
    #expect(link.life == 1)
    #expect(link.speakingLife == nil)
    scene.turn(by: .seconds(1))
    #expect(link.speakingLife == 1)
  }

  @Test func aHostWithoutADiskFindsThousandsOfSendsInTheirOrderAndInPortions() {
    let scene = FleetScene()
    let ids = (1...3_000).map { "x-\(String($0, radix: 36))" }
    var fields = FleetFields()
    fields.add("b", "x")
    for id in ids { scene.store.set(box, id, FleetBoxRow.waiting(fields).bytes) }
    let link = FleetLink(scene.settings, engine: scene.engine, timers: scene.timers)
    var (found, most) = ([String](), 0)
    link.box.onNews = { if case .found(let id, _) = $0 { found.append(id) } }
    while !link.box.isSettled, let next = scene.timers.nextDeadline {
      let before = found.count
      if next > scene.time.now { scene.time.advance(by: next - scene.time.now) }
      scene.timers.fire()
      most = max(most, found.count - before)
    }
    #expect(found == ids)
    #expect(most <= FleetPortions.portion)
  }

  @Test func aHostWithoutADiskFindsManyLargeSendsInPortions() {
    var fields = FleetFields()
    fields.add("b", String(repeating: "x", count: 300_000))
    for number in 1...20 { scene.store.set(box, "x-\(number)", FleetBoxRow.waiting(fields).bytes) }
    scene.store.restart()
    adopt()
    for number in 1...20 { scene.store.set(box, "x-\(number)", FleetBoxRow.waiting(fields).bytes) }
    scene.turn(by: .seconds(11))
    #expect(takeNotes() == (1...20).map { "found x-\($0)" })
    #expect(scene.engine.largestRead <= FleetPortions.bytes)
  }
}
