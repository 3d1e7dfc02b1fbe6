/// Who holds one message that is said at every connect, and what undoes it.
struct EnterHolders {
  /// The users whose subscriptions hold it, who did so first before the others, and how many of each.
  private var users: [(account: Account, count: Int)] = []
  /// Of all holders, those that want an acknowledgement.
  private(set) var ackCount = 0
  private(set) var undoing: EnterUndoing?
  /// Who was the last to hold it, where nobody does.
  private(set) var last: AccessIdentity?
  /// Counts the message for the user who was the last to hold it, as long as it is known without a holder.
  private var leftBehind: FilterHold?

  var isEmpty: Bool { users.isEmpty }

  /// On whose account it was held last; the configuration's, where no subscription was.
  var lastAccount: Account { last?.account ?? .configuration }

  /// The user who pays for it: the one who has held it longest, so that it is the same at each connect; nil where there
  /// is none.
  var payer: Account? { users.first?.account }

  /// One more subscription of a user holds it.
  mutating func add(_ held: HeldEnter, of user: AccessIdentity) {
    if let index = users.firstIndex(where: { $0.account == user.account }) {
      users[index].count += 1
    } else {
      users.append((user.account, 1))
    }
    if held.enter.wantsAck { ackCount += 1 }
    name(held.leave, user)
    (last, leftBehind) = (nil, nil)
  }

  /// One of them has gone.
  mutating func remove(_ held: HeldEnter, of user: AccessIdentity) {
    if let index = users.firstIndex(where: { $0.account == user.account }) {
      users[index].count -= 1
      if users[index].count == 0 { users.remove(at: index) }
    }
    if held.enter.wantsAck { ackCount -= 1 }
    // What the others have named for it is as good.
    name(held.leave, user)
    if users.isEmpty { last = user }
  }

  /// What one of them who has gone leaves behind counts for its user: what undoes the message, and, unless others need it, the
  /// message.
  mutating func keep(_ held: HeldEnter, of user: AccessIdentity, isNeeded: Bool, in shares: FilterShares) {
    if let leave = held.leave { undoing?.leftBehind = shares.hold(leftBehind: leave.message, by: user.uid) }
    if !isNeeded { leftBehind = shares.hold(leftBehind: held.enter.message, by: user.uid) }
  }

  private mutating func name(_ leave: EnterRequest?, _ user: AccessIdentity) {
    guard let leave else { return }
    if undoing?.leave == leave { undoing?.add(user) } else { undoing = EnterUndoing(leave, named: user) }
    // It is a subscription's again.
    undoing?.leftBehind = nil
  }

  /// What is to be said now that there is no holder any more.
  func ending(of message: EnterMessage) -> EnterEnding? {
    guard let undoing, let last else { return nil }
    return EnterEnding(message: message, undoing: undoing, last: last)
  }
}

/// What undoes a message, and who named it.
struct EnterUndoing {
  let leave: EnterRequest
  /// Of each user the identity of the program that named it last; those that were the last to do so, at most
  /// `namerLimit`.
  private var namers: [AccessIdentity]
  /// Counts it for the user who named it last, whose subscription has gone; nil before that.
  fileprivate(set) var leftBehind: FilterHold?
  static let namerLimit = 8

  init(_ leave: EnterRequest, named user: AccessIdentity) {
    self.leave = leave
    namers = [user]
  }

  mutating func add(_ user: AccessIdentity) {
    namers.removeAll { $0.uid == user.uid }
    if namers.count == Self.namerLimit { namers.removeFirst() }
    namers.append(user)
  }

  /// Whether one of those that named it may say it.
  func mayBeSaid(_ may: (EnterRequest, AccessIdentity) -> Bool) -> Bool { namers.contains { may(leave, $0) } }
}

/// A message has lost its last holder, and is undone.
struct EnterEnding {
  let message: EnterMessage
  let undoing: EnterUndoing
  let last: AccessIdentity

  /// What is to be said for it: nothing that none of those that named it may say, or not the one who held it last. To be
  /// asked when it is said, because rights may have changed since.
  func leave(where may: (EnterRequest, AccessIdentity) -> Bool) -> EnterRequest? {
    undoing.mayBeSaid(may) && may(undoing.leave, last) ? undoing.leave : nil
  }
}

extension AccessIdentity {
  var account: Account { .user(uid) }
}

extension EnterRequest {
  /// What a program needs to have it said, as for a send.
  var right: AccessVerb { wantsAck ? .request : .send }
}
