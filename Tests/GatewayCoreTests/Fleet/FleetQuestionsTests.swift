import Testing

@testable import GatewayCore

@Suite struct FleetQuestionsTests {
  @Test func theHostWithTheFewestQuestionsAnswersAndOfThoseTheFirst() {
    var questions = FleetQuestions()
    let asked = (1...3).map { questions.ask($0, of: ["b", "a"]) }
    #expect(asked == ["a", "b", "a"])
    let over = [questions.take(1), questions.take(3), questions.take(3)]
    #expect(over == ["a", "a", nil])
    let next = [questions.ask(4, of: ["b", "a"]), questions.ask(5, of: ["b"]), questions.ask(6, of: [])]
    #expect(next == ["a", "b", nil])
  }

  @Test func whatAGoneHostWasAskedIsOver() {
    var questions = FleetQuestions()
    for id in 1...UInt64(3) { _ = questions.ask(id, of: ["a", "b"]) }
    let gone = [questions.abandon("a"), questions.abandon("a")]
    #expect(gone == [[1, 3], []])
    let over = [questions.take(1), questions.take(2)]
    #expect(over == [nil, "b"])
  }
}
