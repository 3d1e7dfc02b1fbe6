/// One message that is said at every connect: who holds it, where it stands on this link, and what speaks against it.
struct EnterEntry {
  /// Orders the entries. Those of the configuration have negative ones.
  var number: Int
  var holders = EnterHolders()
  var isConfigured = false
  var standing = EnterTable.Standing.unsaid
  /// Under which number it was written, where the link has such and no acknowledgement is awaited.
  var writeNumber: UInt64?
  /// It was said on this link before, and may have been taken then: another refusal does not undo that.
  var mayBeIn = false
  /// Ends the waiting for the acknowledgement.
  var timer: Timers.ID?
  var doubt = EnterDoubt()
  /// When it was written last.
  var size: MessageSize?
  /// Its holders were told that it is refused, and not yet that it is no more.
  var isToldRefused = false

  var isHeld: Bool { !holders.isEmpty || isConfigured }

  /// Where it waits for its trial; nil unless it does.
  var trialPlace: EnterOrder.Place? {
    guard standing == .unsaid, isHeld else { return nil }
    return doubt.trialDue.map { EnterOrder.Place(time: $0, number: number) }
  }

  /// Where it stands among those that the server has on this link and has not shown to live with.
  var writtenPlace: EnterOrder.Place? {
    switch standing {
    case .asked, .said(isAcknowledged: false): doubt.saidAt.map { EnterOrder.Place(time: $0, number: number) }
    case .unsaid, .said, .refused, .breaking, .kept, .doubtful: nil
    }
  }

  mutating func linkEnded() {
    (timer, writeNumber) = (nil, nil)
    mayBeIn = false
    doubt.saidAt = nil
    switch standing {
    case .said(let isAcknowledged): standing = .kept(isAcknowledged: isAcknowledged)
    case .asked, .refused(mayHaveArrived: true): standing = .doubtful
    case .refused(mayHaveArrived: false): standing = .unsaid
    case .unsaid, .breaking, .kept, .doubtful: break
    }
  }

  mutating func linkBegan(isRecovered: Bool) {
    switch standing {
    case .kept(let isAcknowledged): standing = isRecovered ? .said(isAcknowledged: isAcknowledged) : .unsaid
    case .doubtful: standing = .unsaid
    case .unsaid, .asked, .said, .refused, .breaking: break
    }
  }
}
