/// What the holder says to all hosts: an entry of `ev`. Its place is its conversation and its number: a marker's number is
/// 0, and it begins a conversation or ends one.
enum FleetEntry: Equatable, Sendable {
  case marker(FleetMarker)
  case event(FleetEvent)
  /// An event that cannot be shown.
  case dropped(FleetEvent.Head, DroppedEvent)
  /// An event of so many bytes that is longer than a line, by the name.
  case tooLong(FleetEvent.Head, name: [UInt8], size: Int)

  /// What every event has; nil for a marker.
  var head: FleetEvent.Head? {
    switch self {
    case .marker: nil
    case .event(let event): event.head
    case .dropped(let head, _), .tooLong(let head, _, _): head
    }
  }

  var fields: FleetFields {
    var fields = FleetFields()
    switch self {
    case .marker(let marker): marker.add(to: &fields)
    case .event(let event):
      fields.add("n", event.name)
      fields.add("a", event.arguments)
      fields.add("w", ifSet: event.kwargs)
      event.head.add(to: &fields)
    case .dropped(let head, let event):
      fields.add("x", event.reason.rawValue)
      fields.add("n", ifSet: event.name)
      if let detail = event.detail { fields.add("r", detail) }
      head.add(to: &fields)
    case .tooLong(let head, let name, let size):
      fields.add("l", UInt64(size))
      fields.add("n", name)
      head.add(to: &fields)
    }
    return fields
  }

  /// Nil for what no holder of this version writes.
  init?(_ fields: FleetFields) {
    if fields.has("k") {
      guard let marker = FleetMarker(fields) else { return nil }
      self = .marker(marker)
      return
    }
    guard let head = FleetEvent.Head(fields) else { return nil }
    if let reason = fields.text("x") {
      self = .dropped(
        head,
        DroppedEvent(
          GapReason(rawValue: reason) ?? .undecodable, detail: fields.text("r"), name: fields.string("n"),
          ack: head.question?.id))
      return
    }
    let size = fields.number("l")
    guard fields.has("n"), size != nil || fields.has("a") else { return nil }
    let name = fields.string("n")
    if let size, let name {
      self = .tooLong(head, name: name, size: Int(clamping: size))
    } else if let name, let payload = fields.payload {
      self = .event(FleetEvent(head: head, name: name, arguments: payload.arguments, kwargs: payload.kwargs))
    } else {
      self = .dropped(
        head,
        DroppedEvent(
          .undecodable, detail: "what Redis has of it is no JSON in one line", name: name, ack: head.question?.id))
    }
  }
}

/// An event of the server.
struct FleetEvent: Equatable, Sendable {
  /// What every event has.
  struct Head: Equatable, Sendable {
    /// When the holder received it, in milliseconds since 1970.
    var time: UInt64
    /// That of its conversation, for hosts that come when its marker is forgotten.
    var epoch: String?
    /// Where a recovery would go on behind it, as the server says.
    var offset: String?
    /// Set when the server wants an answer.
    var question: Question?

    init(time: UInt64, epoch: String? = nil, offset: String? = nil, question: Question? = nil) {
      self.time = time
      self.epoch = epoch
      self.offset = offset
      self.question = question
    }
  }

  /// What the server wants to have answered, and the host that is asked.
  struct Question: Equatable, Sendable {
    var id: UInt64
    var host: String
  }

  var head: Head
  /// Name, arguments and keyword arguments as in `UpstreamChannelOwner`.
  var name: [UInt8]
  var arguments: [UInt8]
  var kwargs: [UInt8]?
}

extension FleetEvent.Head {
  fileprivate func add(to fields: inout FleetFields) {
    fields.add("t", time)
    if let epoch { fields.add("e", epoch) }
    if let offset { fields.add("o", offset) }
    guard let question else { return }
    fields.add("q", question.id)
    fields.add("to", question.host)
  }

  fileprivate init?(_ fields: FleetFields) {
    guard let time = fields.number("t") else { return nil }
    self.init(time: time, epoch: fields.text("e"), offset: fields.text("o"))
    if let id = fields.number("q"), let host = fields.text("to") { question = .init(id: id, host: host) }
  }
}

/// Where a conversation begins or ends. The steps write it, in the engine.
struct FleetMarker: Equatable, Sendable {
  enum Kind: Equatable, Sendable {
    /// Another host holds from now on.
    case take
    /// The conversation of this number begins; so many hosts share what the server takes at once.
    case open(hosts: Int)
    /// The conversation with the server is over. `settled` with an end that came in order: the conversation that is over, of
    /// which each host had been told before how far its calls were written. None behind that was, nor will be. Holders of
    /// earlier versions never say so.
    case down(reason: String, detail: String, settled: UInt64? = nil)
  }

  var kind: Kind
  var term: UInt64
  /// Empty before the first conversation.
  var epoch: String
  /// The number of the last event.
  var sequence: UInt64
  var offset = ""

  /// The conversation that is settled with an end.
  var settled: UInt64? { if case .down(_, _, let settled) = kind { settled } else { nil } }

  /// `k` kind, `t` term, `e` epoch, `s` sequence, `o` offset; `hosts` of an opening; `r` reason and `d` detail of an end, `c`
  /// the conversation that is settled with it.
  func add(to fields: inout FleetFields) {
    let word =
      switch kind {
      case .take: "take"
      case .open: "open"
      case .down: "down"
      }
    fields.add("k", word)
    fields.add("t", term)
    fields.add("e", epoch)
    fields.add("s", sequence)
    fields.add("o", offset)
    switch kind {
    case .take: break
    case .open(let hosts): fields.add("hosts", UInt64(hosts))
    case .down(let reason, let detail, let settled):
      fields.add("r", reason)
      fields.add("d", detail)
      if let settled { fields.add("c", settled) }
    }
  }

  init(_ kind: Kind, term: UInt64, epoch: String, sequence: UInt64, offset: String = "") {
    self.kind = kind
    self.term = term
    self.epoch = epoch
    self.sequence = sequence
    self.offset = offset
  }

  init?(_ fields: FleetFields) {
    guard let term = fields.number("t"), let epoch = fields.text("e"), let sequence = fields.number("s"),
      max(term, sequence) <= FleetPosition.highest
    else { return nil }
    let kind: Kind? =
      switch fields.text("k") {
      case "take": .take
      case "open": .open(hosts: Int(clamping: fields.number("hosts") ?? 1))
      case "down":
        .down(reason: fields.text("r") ?? "", detail: fields.text("d") ?? "", settled: fields.number("c"))
      default: nil
      }
    guard let kind else { return nil }
    self.init(kind, term: term, epoch: epoch, sequence: sequence, offset: fields.text("o") ?? "")
  }
}
