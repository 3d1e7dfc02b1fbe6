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

  @Test func whatAHostIsToAnswerIsKnown() {
    var questions = FleetQuestions()
    for id in 1...UInt64(3) { _ = questions.ask(id, of: ["a", "b"]) }
    #expect(questions.open(of: "a") == [1, 3])
    _ = questions.take(1)
    #expect([questions.open(of: "a"), questions.open(of: "c")] == [[3], []])
  }
}
