/// The namespaces that share a link: which channel has which name, and what the server still owes to those that have
/// left.
final class Namespaces {
  /// A channel under the name that packets have for it. Never changed, so that neither has to be retained for each
  /// event.
  final class Member {
    /// Empty for the main namespace.
    let name: [UInt8]
    let channel: SocketIOChannel

    fileprivate init(_ channel: SocketIOChannel) {
      name = channel.namespace
      self.channel = channel
    }

    /// As in `SocketIOChannel`. From here the channel need not be retained, because the member is.
    func receive(event name: RawSpan, _ arguments: RawSpan, ack: UInt64?) {
      channel.receive(event: name, arguments, ack: ack)
    }

    fileprivate func isNamed(_ name: RawSpan) -> Bool {
      guard name.byteCount > 0 else { return self.name.isEmpty }
      let own = self.name
      return own.span.bytes.isEqual(to: name)
    }
  }

  /// Revision 3 only: where the main namespace stands, which the server joins by itself.
  enum Main: Equatable {
    /// Not accepted yet. May become `accepted` or `closed`.
    case pending
    case accepted
    /// Refused or ended by the server; no namespace can be joined any more.
    case closed
  }

  /// In the order in which they came.
  private(set) var channels: [SocketIOChannel] = []
  private(set) var main = Main.pending
  /// Those whose names have the same hash. Names that were chosen so that they have share a place, and are compared.
  private var places: [UInt64: [Member]] = [:]
  private var count = 0
  /// The member, where there is but one, as on most links.
  private var only: Member?
  /// Above every acknowledgement id of the channels that have left. New channels count on from here: what the server
  /// still owes to an earlier one of the same namespace must not answer a later one.
  private(set) var nextAck: UInt64 = 0
  /// Namespaces whose channel left before the server answered our CONNECT, and how many answers are due.
  private var repliesDue: [[UInt8]: Int] = [:]

  // MARK: - Channels

  /// The longest line of the programs for which there is the link.
  var lineLimit: Int { channels.first?.owner.lineLimit ?? .max }

  /// Of the longest name, in bytes.
  var longestName: Int { channels.reduce(0) { max($0, $1.namespace.count) } }

  /// Whether a channel of this namespace may come: a link carries a namespace once at a time.
  func hasRoom(for namespace: [UInt8]) -> Bool {
    main != .closed && repliesDue[namespace] == nil && channel(namespace) == nil
  }

  func add(_ channel: SocketIOChannel) {
    channels.append(channel)
    enter(Member(channel))
  }

  /// A channel has another name in packets than this one, because the revision is known now.
  func rename(_ channel: SocketIOChannel, from name: [UInt8]) {
    if remove(channel, named: name) { enter(Member(channel)) }
  }

  /// - Parameter replyDue: the server's answer to our CONNECT will still come.
  func remove(_ channel: SocketIOChannel, replyDue: Bool) {
    guard remove(channel, named: channel.namespace) else { return }
    channels.removeAll { $0 === channel }
    if replyDue { repliesDue[channel.namespace, default: 0] += 1 }
    nextAck = max(nextAck, channel.nextAck)
  }

  /// Lets all of them go.
  func removeAll() -> [SocketIOChannel] {
    defer { (channels, places, count, only) = ([], [:], 0, nil) }
    return channels
  }

  /// The link dials anew: what the server knew and owed is void.
  func forgetServer() {
    repliesDue = [:]
    main = .pending
  }

  /// Whether an answer to a CONNECT belongs to a channel that has left; it is counted off.
  func takeDueReply(_ namespace: [UInt8]) -> Bool {
    guard let due = repliesDue[namespace] else { return false }
    repliesDue[namespace] = due > 1 ? due - 1 : nil
    return true
  }

  // MARK: - What the server says

  /// How a channel gets in.
  func entry(of channel: SocketIOChannel, _ revision: EngineIORevision) -> SocketIOSession.Entry {
    guard revision == .three else { return .ask }
    return channel.namespace.isEmpty ? .unasked : main == .accepted ? .ask : .behindMain
  }

  /// The server accepted one. Revision 3 gives it no id: it has but that of the Engine.IO session, which is a secret,
  /// as it suffices to take the session over.
  func accepted(_ name: [UInt8], _ revision: EngineIORevision?, sid: String?, pid: String?) {
    guard revision == .three else {
      let channel = channel(name)
      guard sid != nil else { channel?.handle(.failed(SocketIOProblem.missingSid.failure)); return }
      channel?.accepted(sid: sid, pid: pid)
      return
    }
    guard name.isEmpty else { channel(name)?.handle(.accepted); return }
    guard main == .pending else { return }
    main = .accepted
    for channel in channels { channel.handle(channel.namespace.isEmpty ? .accepted : .mainAccepted) }
  }

  /// The server refused one. Without the main namespace a server of revision 3 admits to no other; it also reports
  /// errors of single packets this way.
  func refused(_ name: [UInt8], _ revision: EngineIORevision?, _ refusal: SocketIORefusal) {
    let failure = refusal.failure(.refused, name)
    if revision == .three, name.isEmpty, main == .pending {
      main = .closed
      for channel in channels { channel.handle(.failed(failure)) }
      return
    }
    guard let channel = channel(name), revision != .three || !channel.isJoined else { return }
    channel.handle(.failed(failure))
  }

  /// The server has ended one.
  func disconnected(_ name: [UInt8], _ revision: EngineIORevision?, _ refusal: SocketIORefusal) {
    if revision == .three, name.isEmpty { main = .closed }
    channel(name)?.handle(.failed(refusal.failure(.kicked, name)))
  }

  // MARK: - By name

  /// The member that a packet names, without making a text of the name and in the same time for ten as for ten
  /// thousand.
  @inline(__always)
  func member(_ name: RawSpan) -> Member? {
    if let only { return only.isNamed(name) ? only : nil }
    for member in places[Self.hash(name)] ?? [] where member.isNamed(name) { return member }
    return nil
  }

  /// The channel of a namespace.
  func channel(_ name: [UInt8]) -> SocketIOChannel? {
    let member = member(name.span.bytes)
    return member?.channel
  }

  private func enter(_ member: Member) {
    let name = member.name
    places[Self.hash(name.span.bytes), default: []].append(member)
    count += 1
    only = count == 1 ? member : nil
  }

  private func remove(_ channel: SocketIOChannel, named name: [UInt8]) -> Bool {
    let hash = Self.hash(name.span.bytes)
    guard let index = places[hash]?.firstIndex(where: { $0.channel === channel }) else { return false }
    places[hash]?.remove(at: index)
    if places[hash]?.isEmpty == true { places[hash] = nil }
    count -= 1
    only = count == 1 ? places.values.first?.first : nil
    return true
  }

  /// FNV-1a.
  private static func hash(_ name: RawSpan) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for index in 0..<name.byteCount {
      hash = (hash ^ UInt64(JSONScanner.byte(name, index))) &* 0x100_0000_01b3
    }
    return hash
  }
}
