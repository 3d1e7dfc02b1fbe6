import Testing

@testable import GatewayCore

private let a = WAMPTopic(uri: "a", match: .exact)
private let b = WAMPTopic(uri: "b", match: .exact)

/// Subscriptions, of which `a` is asked for by request 1.
private func asked() -> WAMPGrants {
  var grants = WAMPGrants()
  _ = grants.want(a)
  grants.asked(a, request: 1)
  return grants
}

/// `a` is subscription 70.
private func live() throws -> WAMPGrants {
  var grants = asked()
  _ = try grants.granted(request: 1, id: 70, .subscribed)
  return grants
}

/// `a` is being given back by request 2.
private func returning() throws -> WAMPGrants {
  var grants = try live()
  _ = grants.drop(a)
  grants.returning(a, request: 2)
  return grants
}

@Suite struct WAMPGrantsTests {
  @Test func aTopicIsAskedForOnce() throws {
    var grants = WAMPGrants()
    #expect(grants.want(a) == .ask(a))
    grants.asked(a, request: 1)
    #expect(grants.want(a) == nil)
    #expect(grants.isAsking)
    #expect(try grants.granted(request: 1, id: 70, .subscribed) == .granted(a))
    #expect(grants.want(a) == .granted(a))
    #expect(!grants.isAsking)
  }

  @Test func theLastOneGivesTheIDBack() throws {
    var grants = try live()
    #expect(grants.drop(a) == .giveBack(a, id: 70))
    grants.returning(a, request: 2)
    #expect(try grants.returned(request: 2, .unsubscribed) == nil)
    #expect(grants == WAMPGrants())
  }

  @Test func aTopicDroppedBeforeTheAnswerIsGivenBackWithIt() throws {
    var grants = asked()
    #expect(grants.drop(a) == nil)
    #expect(try grants.granted(request: 1, id: 70, .subscribed) == .giveBack(a, id: 70))
    grants.returning(a, request: 2)
    #expect(try grants.returned(request: 2, .unsubscribed) == nil)
    #expect(grants == WAMPGrants())
  }

  @Test func aTopicDroppedAndWantedAgainBeforeTheAnswerIsKept() throws {
    var grants = asked()
    _ = grants.drop(a)
    #expect(grants.want(a) == nil)
    #expect(try grants.granted(request: 1, id: 70, .subscribed) == .granted(a))
  }

  @Test func aTopicWantedWhileItIsGivenBackIsAskedForAfresh() throws {
    var grants = try returning()
    #expect(grants.want(a) == nil)
    #expect(grants.isAsking)
    #expect(try grants.returned(request: 2, .unsubscribed) == .ask(a))
    grants.asked(a, request: 3)
    #expect(try grants.granted(request: 3, id: 71, .subscribed) == .granted(a))
    #expect(grants.topic(70) == nil)
    #expect(grants.topic(71)?.topic == a)
  }

  @Test func aTopicWantedAndDroppedWhileItIsGivenBackIsGone() throws {
    var grants = try returning()
    _ = grants.want(a)
    _ = grants.drop(a)
    #expect(try grants.returned(request: 2, .unsubscribed) == nil)
    #expect(grants == WAMPGrants())
  }

  @Test func anIDIsKnownUntilTheRouterTookItBack() throws {
    let grants = try returning()
    #expect(grants.topic(70)?.isReturning == true)
    #expect(try live().topic(70)?.isReturning == false)
    #expect(grants.topic(71) == nil)
  }

  @Test func aRefusalIsToldToThoseWhoWait() {
    var grants = asked()
    #expect(grants.failed(request: 1) == .refused(a))
    #expect(!grants.isAsking)
    #expect(grants.want(a) == .ask(a))
  }

  @Test func aRefusalOfWhatNobodyWantsIsForgotten() {
    var grants = asked()
    _ = grants.drop(a)
    #expect(grants.failed(request: 1) == nil)
    #expect(grants == WAMPGrants())
  }

  @Test func aRefusedTopicThatIsDroppedIsForgotten() {
    var grants = asked()
    _ = grants.failed(request: 1)
    #expect(grants.drop(a) == nil)
    #expect(grants == WAMPGrants())
  }

  @Test func aRouterThatDoesNotKnowTheIDAnyMoreHasForgottenIt() throws {
    var grants = try returning()
    #expect(grants.failed(request: 2) == nil)
    #expect(grants == WAMPGrants())
  }

  @Test func aRevokedTopicIsRefused() throws {
    var grants = try live()
    #expect(try grants.revoked(id: 70, .unsubscribed) == .refused(a))
    #expect(grants.topic(70) == nil)
    #expect(grants.drop(a) == nil)
    #expect(grants == WAMPGrants())
  }

  @Test func aRevocationThatCrossesOurUnsubscribeIsNoNews() throws {
    var grants = try returning()
    #expect(try grants.revoked(id: 70, .unsubscribed) == nil)
    #expect(grants.failed(request: 2) == nil)
    #expect(grants == WAMPGrants())
  }

  @Test func answersThatNobodyAskedForAreViolations() throws {
    var grants = try live()
    #expect(throws: WAMPProblem.unasked(.subscribed, 1)) { try grants.granted(request: 1, id: 71, .subscribed) }
    #expect(throws: WAMPProblem.unasked(.unsubscribed, 1)) { try grants.returned(request: 1, .unsubscribed) }
    #expect(throws: WAMPProblem.unknownID(.unsubscribed, 9)) { try grants.revoked(id: 9, .unsubscribed) }
    var other = asked()
    #expect(throws: WAMPProblem.unasked(.unsubscribed, 1)) { try other.returned(request: 1, .unsubscribed) }
  }

  @Test func oneIDForTwoTopicsIsAViolation() throws {
    var grants = try live()
    _ = grants.want(b)
    grants.asked(b, request: 2)
    #expect(throws: WAMPProblem.repeatedID(.subscribed, 70)) {
      try grants.granted(request: 2, id: 70, .subscribed)
    }
  }

  /// Whatever the order of wishes and answers, nothing is left behind at the end.
  @Test(arguments: UInt64(0)..<200) func noIDIsEverLeftBehind(_ seed: UInt64) throws {
    let random = FakeRandom(seed: seed)
    var router = GrantingRouter()
    var grants = WAMPGrants()
    for _ in 0..<60 {
      let topic = [a, b][Int(random.bits() % 2)]
      switch random.bits() % 4 {
      case 0: router.perform(grants.want(topic), &grants)
      case 1: router.perform(grants.drop(topic), &grants)
      default: try router.answer(&grants)
      }
    }
    for topic in [a, b] { router.perform(grants.drop(topic), &grants) }
    while !router.inbox.isEmpty { try router.answer(&grants) }
    #expect(grants == WAMPGrants())
    #expect(router.held.isEmpty)
  }
}

/// A router that answers in order and now and then says no.
private struct GrantingRouter {
  enum Request {
    case ask(UInt64)
    case giveBack(UInt64, id: UInt64)
  }
  var inbox: [Request] = []
  var held: Set<UInt64> = []
  var nextRequest: UInt64 = 1
  var nextID: UInt64 = 100

  mutating func perform(_ action: WAMPGrants.Action?, _ grants: inout WAMPGrants) {
    switch action {
    case .ask(let topic):
      grants.asked(topic, request: nextRequest)
      inbox.append(.ask(nextRequest))
      nextRequest += 1
    case .giveBack(let topic, let id):
      grants.returning(topic, request: nextRequest)
      inbox.append(.giveBack(nextRequest, id: id))
      nextRequest += 1
    case .granted, .refused, nil: break
    }
  }

  mutating func answer(_ grants: inout WAMPGrants) throws {
    guard !inbox.isEmpty else { return }
    switch inbox.removeFirst() {
    case .ask(let request) where request % 5 == 0: perform(grants.failed(request: request), &grants)
    case .ask(let request):
      nextID += 1
      held.insert(nextID)
      perform(try grants.granted(request: request, id: nextID, .subscribed), &grants)
    case .giveBack(let request, let id):
      held.remove(id)
      perform(try grants.returned(request: request, .unsubscribed), &grants)
    }
  }
}
