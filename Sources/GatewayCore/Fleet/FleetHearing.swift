/// How far a host has heard what a fleet's holders say, to all hosts and to it alone, and what of it is new to a channel.
struct FleetHearing {
  /// What a channel hears.
  enum Heard: Equatable {
    /// A conversation begins or ends, or another host holds.
    case marker(FleetMarker)
    /// Something of the server, in the present epoch.
    case event(FleetEntry)
    /// A conversation begins, which ends the one that the channel takes part in: it is for the next channel, and so is what
    /// stands behind it.
    case nextConversation
  }

  /// How far the events and the replies were told, or passed over.
  private(set) var read = FleetPosition.start
  private(set) var readReplies = FleetPosition.start
  /// It is known that the present server goes on from where events were read last.
  private(set) var goesOn = true
  /// Conversations up to this number were heard of at an engine that was lost since: another server may have other ones under
  /// these numbers, or less of what was said in them.
  private var doubted: UInt64 = 0
  /// Up to which number the present epoch was told: its events may be read again.
  private var told: UInt64 = 0
  /// The same of the epochs before it.
  private var toldBefore: [(epoch: String, number: UInt64)] = []
  private static let epochLimit = 16
  private var repliesRead = 0
  /// Replies between two that the engine forgets.
  private static let trimStep = 256
  /// The conversation that is open there, whether this host takes part in it or not.
  private(set) var present: UInt64?
  /// The epoch of what is read; nil before the first marker.
  private(set) var epoch: String?
  private(set) var tops = FleetTops()
  /// The time of the last event of the present epoch that was read, in milliseconds since 1970.
  private(set) var time: UInt64 = 0
  /// The number of the last event of what is read.
  private(set) var sequence: UInt64 = 0

  /// Where the next event stands that is told, at the earliest; nil before the first marker.
  var nextPlace: EventPlace? {
    epoch.map { EventPlace(epoch: $0, sequence: max(sequence, told) + 1, time: 0) }
  }

  /// Events that were not read, as far as the lease tells.
  func behind(_ record: FleetLeaseRecord) -> UInt64 {
    guard record.sequence > sequence else { return 0 }
    let distance = record.sequence - sequence
    // A holder leaves numbers out only where it begins another epoch, which it says when its link is open.
    return record.isOpen && record.epoch == epoch ? distance : distance % FleetPublisher.skip
  }

  // MARK: - Events

  /// The next thing that is new in an entry; nil when there is nothing more. Before an event whose opening the engine has
  /// forgotten stands that opening.
  mutating func next(in record: FleetRecord, isInConversation: Bool) -> Heard? {
    let position = record.position
    guard position > read else { return nil }
    guard let entry = FleetEntry(record.fields), position.number > 0 || entry.head == nil else {
      read = position
      return nil
    }
    if case .marker(let marker) = entry { return take(marker, at: position, isInConversation) }
    if let begun = entry.head?.epoch, position.conversation != present || begun != epoch {
      let before = FleetPosition(position.conversation, position.number - 1)
      let opening = FleetMarker(.open(hosts: 1), term: tops.term, epoch: begun, sequence: before.number)
      return take(opening, at: before, isInConversation)
    }
    tops.note(position)
    (read, sequence) = (position, position.number)
    if let head = entry.head { time = max(time, head.time) }
    guard position.number > told else { return nil }
    told = position.number
    return .event(entry)
  }

  private mutating func take(_ marker: FleetMarker, at position: FleetPosition, _ isInConversation: Bool) -> Heard {
    let isOpening = if case .open = marker.kind { true } else { false }
    if isOpening, isInConversation { return .nextConversation }
    tops.note(marker, at: position)
    (read, sequence) = (position, marker.sequence)
    present = isOpening ? position.conversation : nil
    if isOpening { enter(marker.epoch) }
    return .marker(marker)
  }

  /// Another epoch, or the same again. Numbers of one say nothing of another: two masters may have gone on at the same place.
  private mutating func enter(_ epoch: String) {
    guard epoch != self.epoch else { return }
    if let last = self.epoch { toldBefore.append((last, told)) }
    let known = toldBefore.lastIndex { $0.epoch == epoch }
    told = known.map { toldBefore.remove(at: $0).number } ?? 0
    self.epoch = epoch
    time = 0
    if toldBefore.count > Self.epochLimit { toldBefore.removeFirst() }
  }

  // MARK: - Replies

  /// False for one that was heard before.
  mutating func take(reply position: FleetPosition) -> Bool {
    guard position > readReplies else { return false }
    readReplies = position
    repliesRead += 1
    return true
  }

  /// Now and then the engine may forget the replies that were read.
  var mayTrimReplies: Bool { repliesRead.isMultiple(of: Self.trimStep) }

  /// The host has another name from now on, to which nothing was said.
  mutating func forgetReplies() { readReplies = .start }

  // MARK: - The engine

  /// What comes next may be another server.
  mutating func engineLost() {
    goesOn = false
    doubted = max(doubted, read.conversation, readReplies.conversation)
  }

  /// Whether all that is heard of a conversation comes from the present server, and no reply of it stands behind what was read.
  func isSure(of conversation: UInt64) -> Bool {
    conversation > doubted && readReplies.conversation <= conversation
  }

  /// The present server has that as its newest event; nil where it has none, or does not say. True where it does not go on
  /// from what was read: then it is read from the beginning of that conversation. Its opening is heard again, and what was
  /// told of it is not told again. The replies are to be read from there on as well.
  mutating func goOn(to newest: FleetRecord?) -> Bool {
    goesOn = true
    guard let newest, newest.position.conversation < read.conversation || isOfAnotherConversation(newest) else {
      return false
    }
    let conversation = newest.position.conversation
    read = FleetPosition(conversation - min(1, conversation), .max)
    readReplies = min(readReplies, read)
    present = nil
    return true
  }

  /// Two servers may have given the same number, while one of them did not know that it was replaced.
  private func isOfAnotherConversation(_ record: FleetRecord) -> Bool {
    guard record.position.conversation == read.conversation, let entry = FleetEntry(record.fields) else { return false }
    let other = if case .marker(let marker) = entry { marker.epoch } else { entry.head?.epoch }
    return other.map { $0 != epoch } ?? false
  }
}
