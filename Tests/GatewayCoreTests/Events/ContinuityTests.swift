import Testing

@testable import GatewayCore

/// Which conversations with a server belong to one epoch.
@Suite struct ContinuityTests {
  private var continuity = Continuity()

  @Test mutating func theFirstConversationBeginsNoEpoch() {
    #expect(continuity.begin(isRecovered: false) == .present)
    #expect(continuity.phase == .conversing && continuity.hasConversed && !continuity.isContinued)
  }

  @Test mutating func theNextConversationBeginsAnEpochUnlessTheServerGoesOn() {
    _ = continuity.begin(isRecovered: false)
    continuity.end()
    #expect(continuity.phase == .interrupted)
    #expect(continuity.begin(isRecovered: true) == .present)
    #expect(continuity.isContinued)
    continuity.end()
    #expect(continuity.begin(isRecovered: false) == .next)
    #expect(!continuity.isContinued)
  }

  @Test mutating func anEpochThatBeginsBetweenTwoConversationsIsThatOfTheNext() {
    _ = continuity.begin(isRecovered: false)
    continuity.end()
    continuity.beginEpoch()
    #expect(continuity.begin(isRecovered: false) == .present)
    // Within a conversation, which goes on.
    continuity.beginEpoch()
    #expect(continuity.phase == .conversing)
  }

  @Test mutating func whatAnEarlierDaemonLeftEndsWithTheFirstConversation() {
    continuity.inheritPast()
    #expect(!continuity.hasConversed)
    #expect(continuity.begin(isRecovered: false) == .next)
  }

  @Test mutating func anEndWithoutAConversationChangesNothing() {
    continuity.end()
    #expect(continuity.phase == .fresh)
  }

  @Test(arguments: [(missed: false, isContinued: true), (missed: true, isContinued: false)])
  mutating func placesSayWhetherSomethingIsMissing(missed: Bool, isContinued: Bool) {
    continuity.beginByPlaces()
    #expect(!continuity.isContinued, "there was none to go on with")
    // Missed before the conversation ended: that it went on afterwards is not concerned.
    continuity.miss()
    continuity.end()
    if missed { continuity.miss() }
    continuity.beginByPlaces()
    #expect(continuity.isContinued == isContinued)
  }
}
