/// What a server needs to go on with a namespace after the link was lost: its secret id of the session and the offset
/// of the last event that was received. Socket.IO documentation, "Connection state recovery" (servers from 4.6 on).
/// Kept by the connector, over links.
struct SocketIORecovery: Equatable, Sendable {
  /// The word at the end of an event's arguments.
  struct Ending: Equatable {
    fileprivate var word: OffsetWord
    fileprivate var text: String
    fileprivate var clock: OffsetShape.Clock
    fileprivate var verdict: OffsetShape.Verdict

    /// Where the arguments end without it; nil unless it certainly is an offset.
    var argumentsEnd: Int? { verdict == .offset ? word.end : nil }
  }

  /// Secret: a program that knows it receives what is meant for us.
  private(set) var pid: String?
  private(set) var offset: String?
  /// What offsets of this server look like, as far as that is known.
  private var shape = OffsetShape.unknown(afterStreams: false)

  init() {}

  /// Goes on where an earlier daemon ended.
  init(_ resumption: Resumption?) {
    guard let resumption else { return }
    pid = resumption.session
    offset = resumption.offset
    guard let word = OffsetWord(resumption.offset) else { return }
    shape =
      word.form == .stream ? .supposed(last: word.made, lead: nil) : .known(word.form, last: word.made, lead: nil)
  }

  /// What a later daemon would need; nil as long as servers would recover nothing.
  var resumption: Resumption? {
    guard let pid, let offset else { return nil }
    return Resumption(session: pid, offset: offset)
  }

  /// The server has accepted the namespace. Returns whether it goes on where we left off.
  mutating func accepted(pid: String?) -> Bool {
    if let pid, pid == self.pid, offset != nil { return true }
    forget()
    self.pid = pid
    return false
  }

  /// Nothing can or should be recovered.
  mutating func forget() {
    let shape = shape.afterwards
    self = Self()
    self.shape = shape
  }

  /// A channel's session hears of something: forgets what the server will not keep, or what must not be asked for
  /// twice. What ends with its link is kept.
  mutating func note(_ event: SocketIOSession.Event, in state: SocketIOSession.State) {
    switch event {
    // The server keeps nothing for a namespace that was left, by either side. One that has not answered may do so yet,
    // on a link that lives on, and two connections would have one identity.
    case .leave, .abandoned:
      if state.mayBeJoined { forget() }
    case .failed(let failure):
      if failure.reason == .kicked { forget() }
    case .linkReady, .linkReset, .mainAccepted, .accepted, .triedAgain, .suspend: break
    }
  }

  /// The payload of a CONNECT: what is asked to be recovered, before the members of the auth payload.
  func payload(_ auth: [UInt8]?) -> [UInt8] {
    guard let pid, let offset else { return auth ?? [] }
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("pid", pid)
    writer.member("offset", offset)
    let rest = auth.map { $0.drop { $0 != UInt8(ascii: "{") }.dropFirst().drop { $0 <= 32 } } ?? []
    guard let first = rest.first, first != UInt8(ascii: "}") else {
      writer.endObject()
      return writer.bytes
    }
    return writer.bytes + [UInt8(ascii: ",")] + rest
  }

  /// Whether events may have an offset.
  var isOffered: Bool { pid != nil }

  /// What an event without an acknowledgement ends with, where that looks like an offset.
  func ending(of arguments: RawSpan, at clock: @autoclosure () -> OffsetShape.Clock) -> Ending? {
    guard let word = OffsetWord(lastOf: arguments) else { return nil }
    let text = arguments.extracting(word.range).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    let clock = clock()
    // No event has the offset of another.
    return Ending(word: word, text: text, clock: clock, verdict: text == offset ? .argument : shape.judge(word, clock))
  }

  /// An event counts as received whose offset was not read: until the next one, nothing can be recovered, for the
  /// server would repeat what is there already.
  mutating func missedOffset() { offset = nil }

  /// The event was delivered.
  mutating func received(_ ending: Ending) {
    shape.learn(ending.word, ending.verdict, ending.clock)
    offset = offset(behind: ending)
  }

  /// Where the server goes on behind an event. One whose offset may not have been understood ends the recovery until the
  /// next offset: from an older one on, the server would repeat what is there already.
  private func offset(behind ending: Ending) -> String? {
    switch ending.verdict {
    case .offset, .likely: ending.text
    case .doubtful: nil
    case .argument: offset
    }
  }

  /// Where the server goes on, behind the event that ends so, or else behind the last one.
  func place(behind ending: Ending?) -> SessionPlace? {
    guard let pid else { return nil }
    guard let ending else { return SessionPlace(session: pid, offset: offset) }
    return SessionPlace(session: pid, offset: offset(behind: ending))
  }
}

extension SocketIOSession.State {
  /// Whether the server has accepted the namespace, or may do so any moment.
  fileprivate var mayBeJoined: Bool {
    switch self {
    case .joining, .joined: true
    case .waiting, .behindMain, .left: false
    }
  }
}

extension SocketIORecovery: CustomStringConvertible, CustomReflectable {
  var description: String { "recovery" }
  var customMirror: Mirror { Mirror(reflecting: description) }
}
