import Testing

@testable import GatewayCore

@Suite struct FleetWantsTests {
  private let name = Interest(.name(ExactText("load")), answers: true)
  private let glob = Interest(.glob(ExactText("lo*")), answers: true)

  @Test func itIsAskedForOnceAndEachHostHearsTheAnswer() {
    var wants = FleetWants()
    #expect(wants.want(name, "a") == .ask)
    #expect(wants.want(name, "b") == .wait)
    #expect(wants.answered(name, isAgreed: true) == ["a", "b"])
    #expect(wants.want(name, "c") == .agreed)
    #expect(wants.want(name, "a") == .agreed)
    #expect(!wants.drop(name, "a") && !wants.drop(name, "b") && !wants.drop(name, "x") && wants.drop(name, "c"))
    #expect(wants.want(name, "a") == .ask)
  }

  @Test func whatTheServerRefusedIsAskedForAnew() {
    var wants = FleetWants()
    _ = wants.want(name, "a")
    #expect(wants.answered(name, isAgreed: false) == ["a"])
    #expect(wants.answered(name, isAgreed: true) == [])
    #expect(wants.want(name, "b") == .ask)
  }

  @Test func whoeverAnswersIsFoundByTheName() {
    var wants = FleetWants()
    _ = wants.want(name, "c")
    _ = wants.want(glob, "b")
    _ = wants.want(Interest(.all, answers: true), "a")
    _ = wants.want(Interest(.all), "hears")
    #expect(wants.answerers(of: "load") == ["a", "b", "c"])
    #expect(wants.answerers(of: "log") == ["a", "b"])
    #expect(wants.dropAnswers(of: "b") == [glob])
    #expect(wants.answerers(of: "log") == ["a"])
    #expect(wants.dropAnswers(of: "a").count == 1)
    #expect(wants.answerers(of: "log") == [])
    #expect(wants.dropAnswers(of: "hears") == [] && wants.interests(of: "hears") == [Interest(.all)])
  }

  @Test func aHostAnswersByACertainNumberOfPatterns() {
    var wants = FleetWants()
    let patterns = (0..<FleetWants.patternLimit).map { Interest(.glob(ExactText("\($0)*")), answers: true) }
    for pattern in patterns { _ = wants.want(pattern, "a") }
    #expect(wants.want(glob, "a") == .tooMany && wants.answerers(of: "log") == [])
    #expect(wants.want(patterns[0], "a") == .wait && wants.want(name, "a") == .ask && wants.want(glob, "b") == .ask)
    _ = wants.answered(patterns[0], isAgreed: false)
    #expect(wants.drop(patterns[1], "a") && wants.want(glob, "a") == .wait)
    #expect(wants.want(Interest(.all, answers: true), "a") == .ask)
    #expect(wants.want(Interest(.glob(ExactText("*z")), answers: true), "a") == .tooMany)
  }

  @Test func aQuestionWhoseNameIsANumberIsLookedForByIt() {
    func name(_ text: String) -> String {
      FleetTap.Content.event(name: Array(text.utf8), arguments: [], kwargs: nil).name
    }
    #expect(name("42") == "42" && name(#""load""#) == "load")
    #expect(FleetTap.Content.dropped(DroppedEvent(.undecodable)).name == "")
  }
}
