import Testing

@testable import GatewayCore

/// What is known of messages that broke links, and that no subscription holds any more.
@Suite struct EnterTrialsTests {
  private let now = MonotonicInstant(nanoseconds: 1_000_000_000)
  private let user = AccessIdentity(uid: 2, groups: [])
  private let shares = FilterShares()

  @Test func whatBrokeTheLinkIsRememberedWithoutItsText() {
    let message = EnterMessage("what-was-entered", args: Array(#"["a"]"#.utf8))
    let held = [HeldEnter(enter: EnterRequest(message: message))]
    var table = EnterTable()
    for _ in 0..<2 {
      table.hold(held, of: user, at: now)
      _ = table.open(isRecovered: false, at: now)
      _ = table.said(message, MessageSize(body: 1, attachment: 0), ack: nil, timer: nil, at: now)
      _ = table.blame(at: now)
      _ = table.endOfLink()
      _ = table.giveBack(held, of: user, at: now, in: shares)
    }
    _ = table.open(isRecovered: false, at: now)
    var text = ""
    dump(table, to: &text)
    #expect(!text.contains("what-was-entered"))
    table.hold(held, of: user, at: now)
    #expect(table.unsaid(held).isEmpty)
    #expect(table.nextTrial?.message == message)
  }

  @Test func ofMoreThanAUsersShareThatEndWithTheLinkAnyWereStillKnown() {
    let held = (0..<70).map {
      HeldEnter(enter: EnterRequest(message: EnterMessage("join", args: Array("[\($0)]".utf8))))
    }
    var table = EnterTable()
    table.hold(held, of: user, at: now)
    for _ in 0..<2 {
      _ = table.open(isRecovered: false, at: now)
      for one in held {
        _ = table.said(one.enter.message, MessageSize(body: 1, attachment: 0), ack: nil, timer: nil, at: now)
      }
      _ = table.blame(at: now)
      _ = table.endOfLink()
    }
    _ = table.giveBack(held, of: user, at: now, in: shares)
    _ = table.open(isRecovered: false, at: now)
    table.hold(held, of: user, at: now)
    // The others have to be tried first: those that were entered last.
    #expect(table.unsaid(held) == held[..<6].map(\.enter.message))
  }
}
