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
    link.box.onBoxed = { notes.all.append("boxed \($0)") }
    link.box.onAdopted = { notes.all.append("adopted \($0)") }
    link.box.onReturned = { notes.all.append("returned \($0)") }
    link.box.onFound = { number, _ in notes.all.append("found \(number)") }
    link.box.onOutcome = { number, fields in notes.all.append("\(fields.text("s") ?? "") \(number)") }
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

  private func finish(_ key: FleetKey, _ name: String) {
    var fields = FleetFields()
    fields.add("s", "sent")
    scene.store.set(key, name, FleetBoxRow.finished(fields).bytes)
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
    finish(adopted, "a/8")
    scene.turn(by: .seconds(11))
    #expect(takeNotes() == ["adopted 7", "sent 8"])
    finish(adopted, "a/7")
    scene.turn(by: .seconds(11))
    #expect(takeNotes() == ["sent 7"])
    #expect(scene.store.rows(of: adopted) == [:])
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
    #expect(takeNotes() == ["found 9"])
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
}
