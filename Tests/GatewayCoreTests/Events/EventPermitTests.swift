import Testing

@testable import GatewayCore

/// What access rules let pass goes by the bytes of a name.
@Suite struct EventPermitTests {
  private static let composed = "caf\u{e9}"
  private static let decomposed = "cafe\u{301}"

  @Test(arguments: [[composed, decomposed], [decomposed, composed]])
  func whatWasRememberedOfOneSpellingSaysNothingOfAnother(_ names: [String]) {
    for allowed in names {
      var remembering = RememberingPermit(EventPermit([RuledEvents([allowed])]))
      for name in names + names {
        let answer = remembering.passes(name)
        #expect(answer == name.utf8.elementsEqual(allowed.utf8))
      }
    }
  }

  @Test func aGlobIsCoveredByItsOwnSpellingAlone() {
    let permit = EventPermit([RuledEvents([Self.composed + "*"])])
    #expect(permit.covers(glob: Self.composed + "*"))
    #expect(!permit.covers(glob: Self.decomposed + "*"))
  }

  @Test func rulesOfDifferentSpellingsAreDifferent() {
    for end in ["", "*"] {
      #expect(EventPermit([RuledEvents([Self.composed + end])]) == EventPermit([RuledEvents([Self.composed + end])]))
      #expect(EventPermit([RuledEvents([Self.composed + end])]) != EventPermit([RuledEvents([Self.decomposed + end])]))
    }
  }
}
