import Testing

@testable import GatewayCore

@Suite struct FleetReplayLogTests {
  private struct Word: FleetReplayable {
    var text: String
    var byteCount: Int { text.utf8.count }
  }

  /// An engine that answers when it is told to.
  private final class Engine {
    var said: [String] = []
    var answers: [(FleetOutcome<Void>) -> Void] = []

    func answerAll(_ outcome: FleetOutcome<Void> = .done(())) {
      let waiting = answers
      answers = []
      for answer in waiting { answer(outcome) }
    }
  }

  private let time = FakeTime()
  private let timers: Timers
  private let engine = Engine()

  init() { timers = Timers(time: time) }

  private func log(
    _ state: FleetReplayLog<Word>.State, limit: (count: Int, bytes: Int) = (.max, .max)
  ) -> FleetReplayLog<Word> {
    FleetReplayLog(state, limit: limit, timers: timers) { [engine] log, word, isProbe in
      engine.said.append(word.text)
      engine.answers.append { [weak log] in log?.answered(word, $0, isProbe: isProbe) }
    }
  }

  @Test func whatIsNewIsSaidAtOnceAndWhileTheEngineIsLostWhenItIsReplayed() {
    let log = log(.open)
    log.append(Word(text: "one"))
    #expect(engine.said == ["one"])
    log.lose()
    log.append(Word(text: "two"))
    #expect(engine.said == ["one"])
    log.replay {}
    #expect(engine.said == ["one", "one", "two"] && log.state == .open)
  }

  @Test func whatIsNewDuringAReplayIsSaidBehindIt() {
    let log = log(.lost)
    let count = FleetTurn.limit.count
    for number in 0...count { log.append(Word(text: "\(number)")) }
    var opened = 0
    log.replay { opened += 1 }
    #expect(engine.said.count == count && log.state == .replaying && opened == 0)
    log.append(Word(text: "new"))
    timers.fire()
    #expect(engine.said == (0...count).map(String.init) + ["new"])
    #expect(log.state == .open && opened == 1)
  }

  @Test func aReplayEndsOneThatIsUnderWay() {
    let log = log(.lost)
    let count = FleetTurn.limit.count
    for number in 0...count { log.append(Word(text: "\(number)")) }
    log.replay {}
    log.replay(from: count) {}
    timers.fire()
    #expect(engine.said.suffix(1) == ["\(count)"] && engine.said.count == count + 1)
  }

  @Test func aReplayThatIsCutOffSaysNothingMoreAndDoesNotOpen() {
    let log = log(.lost)
    for number in 0...FleetTurn.limit.count { log.append(Word(text: "\(number)")) }
    log.replay { #expect(Bool(false), "it has opened") }
    log.refuse()
    timers.fire()
    #expect(engine.said.count == FleetTurn.limit.count && log.state == .refused)
  }

  @Test func anEngineThatRefusesIsAskedWithOneAlone() {
    let log = log(.open)
    for text in ["one", "two"] { log.append(Word(text: text)) }
    log.refuse()
    engine.answerAll(.refused(.full))
    engine.said = []
    var answers: [Bool] = []
    for outcome in [.refused(.full), .unanswered, .done(())] as [FleetOutcome<Void>] {
      log.probe(Word(text: "one")) { answers.append($0) }
      engine.answerAll(outcome)
    }
    #expect(engine.said == ["one", "one", "one"] && answers == [false, true])
    // What is answered after the engine was lost says nothing.
    log.probe(Word(text: "one")) { answers.append($0) }
    log.lose()
    engine.answerAll()
    #expect(answers.count == 2)
  }

  @Test func whatIsHeldIsSaidNeitherAtOnceNorByAReplay() {
    let log = log(.open)
    log.isHeld = { $0.text.hasPrefix("b") }
    for text in ["a1", "b1", "a2"] { log.append(Word(text: text)) }
    #expect(engine.said == ["a1", "a2"])
    log.replay {}
    #expect(engine.said == ["a1", "a2", "a1", "a2"])
    log.visit(while: { true }, { log.say($0) }, then: {})
    #expect(engine.said.suffix(3) == ["a1", "b1", "a2"])
  }

  @Test func whatHasNoRoomIsForgottenAndWhatIsConfirmedToo() {
    let log = log(.lost, limit: (count: 3, bytes: 100))
    var gone: [String] = []
    log.onOverflow = { gone.append($0.text) }
    for text in ["1", "2", "3", "4"] { log.append(Word(text: text)) }
    log.forget { $0.text < "4" }
    #expect(gone == ["1"] && log.entries.elements.map(\.text) == ["4"] && log.entries.firstPlace == 3)
  }

  @Test func bytesCountFromWhenTheyAreSaidUntilTheyAreAnswered() {
    let log = log(.open)
    let word = Word(text: "one")
    log.append(word)
    #expect(log.unsentBytes == word.waitingByteCount)
    engine.answerAll(.unanswered)
    #expect(log.unsentBytes == 0)
  }

  @Test func whatIsNewWhileTheEngineIsLostCountsUntilItIsSaidAndAnswered() {
    let log = log(.lost)
    let word = Word(text: "one")
    log.append(word)
    log.lose()
    #expect(log.unsentBytes == word.waitingByteCount)
    log.replay {}
    #expect(log.unsentBytes == word.waitingByteCount)
    engine.answerAll()
    #expect(log.unsentBytes == 0)
  }

  @Test func whatTheEngineRefusesAndWhatIsNewMeanwhileIsNotCounted() {
    let log = log(.lost)
    log.append(Word(text: "one"))
    log.refuse()
    log.append(Word(text: "two"))
    #expect(log.unsentBytes == 0)
  }

  private final class Token {}

  private struct Counted: FleetReplayable {
    let token: Token
    var byteCount: Int { 1 }
  }

  /// It was 4 ms for 4,000 replies of a conversation that had ended.
  @Test func aLongLogIsLetGoAPortionInATurn() {
    struct Weak { weak var token: Token? }
    var kept: FleetReplayLog<Counted>? = FleetReplayLog(.lost, timers: timers) { _, _, _ in }
    var tokens: [Weak] = []
    for _ in 0..<1_000 {
      let token = Token()
      tokens.append(Weak(token: token))
      kept?.append(Counted(token: token))
    }
    kept = nil
    #expect(tokens.count { $0.token == nil } == FleetTurn.limit.count)
    for _ in 0..<5 { timers.fire() }
    #expect(tokens.allSatisfy { $0.token == nil })
  }
}
