/// How the calls between a connection and its channel travel as entries of streams: `FleetUpEntry` what a host says,
/// `FleetEntry` what the holder says to all, `FleetReplyEntry` what it says to one. Payloads are the bytes that cross the
/// seam. Names of fields are short, for each event carries them.
enum FleetWire {
  /// The versions of it that this gatewayd speaks. A fleet speaks the lowest of those that its hosts say.
  static let versions: ClosedRange<UInt64> = 1...1

  /// Bytes of the longest message, answer or event, whatever `limits.line` and `message_limit` allow: an entry has two messages at
  /// most, and is read as one answer of the engine (`RESPReader.Limits`).
  static let longest = 24 << 20

  /// `a` or `e` for events or answers; `*`, `=` or `~` for all, a name or a glob; then its text.
  static func bytes(of interest: Interest) -> [UInt8] {
    let use = interest.answers ? "a" : "e"
    return switch interest.pattern {
    case .all: Array("\(use)*".utf8)
    case .name(let name): Array("\(use)=\(name.text)".utf8)
    case .glob(let glob): Array("\(use)~\(glob.text)".utf8)
    }
  }

  static func interest(_ bytes: [UInt8]) -> Interest? {
    guard bytes.count >= 2, bytes[0] == UInt8(ascii: "a") || bytes[0] == UInt8(ascii: "e") else { return nil }
    let answers = bytes[0] == UInt8(ascii: "a")
    let text = ExactText(String(decoding: bytes[2...], as: UTF8.self))
    switch bytes[1] {
    case UInt8(ascii: "*"): return Interest(.all, answers: answers)
    case UInt8(ascii: "="): return Interest(.name(text), answers: answers)
    case UInt8(ascii: "~"): return Interest(.glob(text), answers: answers)
    default: return nil
    }
  }
}

extension PreparedMessage {
  /// `n` name, `b` body, `y` each attachment, `z` not to be compressed.
  func add(to fields: inout FleetFields) {
    fields.add("n", event)
    fields.add("b", body)
    for attachment in attachments { fields.add("y", attachment) }
    fields.add("z", if: !compress)
  }

  init?(_ fields: FleetFields) {
    guard let event = fields.text("n"), let body = fields["b"] else { return nil }
    self.init(event: event, body: body, attachments: fields.every("y"))
    compress = !fields.has("z")
  }
}

extension PreparedLeave {
  /// `l` the message, as one value, `w` where an acknowledgement is asked for.
  fileprivate func add(to fields: inout FleetFields) {
    var own = FleetFields()
    message.add(to: &own)
    fields.add("l", own.packed)
    fields.add("w", if: wantsAck)
  }

  fileprivate init?(_ fields: FleetFields) {
    guard let packed = fields["l"], let own = FleetFields(packed: packed), let message = PreparedMessage(own) else {
      return nil
    }
    self.init(message: message, wantsAck: fields.has("w"))
  }
}

extension RemoteAnswer {
  /// `a` arguments, `w` keyword arguments; or `l`, how long it is, or `u`, that it cannot be shown.
  func add(to fields: inout FleetFields) {
    if isOmitted {
      fields.add("l", UInt64(byteCount))
    } else if !isReadable {
      fields.add("u", if: true)
    } else {
      fields.add("a", args)
      fields.add("w", ifSet: kwargs)
    }
  }

  init?(_ fields: FleetFields) {
    if let size = fields.number("l") {
      self.init(tooLong: Int(clamping: size))
    } else if fields.has("u") {
      self = .unreadable
    } else {
      guard fields.has("a") else { return nil }
      self = fields.payload.map { RemoteAnswer($0.arguments, kwargs: $0.kwargs) } ?? .unreadable
    }
  }
}

extension UpstreamFailure {
  /// As other hosts are told it, and so whoever reads in the engine: all that is written there of a failure is made from this.
  /// Where the server repeats credentials its words stay on this host.
  var forOtherHosts: UpstreamFailure {
    guard repeatsCredentials else { return self }
    let what = isRefusal ? "refuses it" : "ended it"
    return UpstreamFailure(reason, "the server \(what), with words in which the credentials stand", status: status)
  }
}

/// What a server says itself where it refuses something, as the hosts are told.
struct FleetServerWords: Equatable, Sendable {
  /// At most `UpstreamFailure.messageLimit` bytes and a mark.
  var message: String?
  /// A JSON text in one line, of at most `dataLimit` bytes; nil where the server sent none, or a longer one.
  var data: [UInt8]?

  /// All hosts read them now and then.
  static let dataLimit = 1 << 10

  init() {}

  init(_ failure: UpstreamFailure) {
    let failure = failure.forOtherHosts
    message = failure.serverMessage
    data = failure.serverData.flatMap { $0.count <= Self.dataLimit ? $0 : nil }
  }

  init(_ fields: FleetFields) {
    message = fields.text("m")?.shortened(to: UpstreamFailure.messageLimit)
    data = (fields["j"]?.count ?? 0) <= Self.dataLimit ? fields.value("j") : nil
  }

  /// `m` message, `j` data.
  func add(to fields: inout FleetFields) {
    if let message { fields.add("m", message) }
    fields.add("j", ifSet: data)
  }
}

/// Why the server does not agree to an interest.
struct FleetInterestRefusal: Equatable, Sendable {
  /// A sentence for people.
  var detail: String
  var words = FleetServerWords()

  init(_ detail: String) { self.detail = detail }
  init(_ failure: UpstreamFailure) { (detail, words) = (failure.forOtherHosts.detail, FleetServerWords(failure)) }

  /// Nil where it agrees.
  fileprivate init?(_ fields: FleetFields) {
    guard let detail = fields.text("r") else { return nil }
    (self.detail, words) = (detail, FleetServerWords(fields))
  }

  /// `r` detail, and those of `FleetServerWords`. Hosts of before read the first.
  fileprivate func add(to fields: inout FleetFields) {
    fields.add("r", detail)
    words.add(to: &fields)
  }

  var failure: UpstreamFailure {
    UpstreamFailure(.refused, detail, serverMessage: words.message, serverData: words.data)
  }
}

/// What a host says to the holder: an entry of `up`.
struct FleetUpEntry: Equatable, Sendable {
  enum Call: Equatable, Sendable {
    /// A message, with the number of the acknowledgement that is awaited and, of a durable send, the name of its row.
    case write(PreparedMessage, ack: UInt64?, row: String?)
    /// A message that enters something, as `write`, and what is to be said for the host if it does not live to leave it.
    case enter(PreparedMessage, ack: UInt64?, leave: PreparedLeave?)
    /// The host does not hold an entering message any more; nil: it has nothing that undoes it.
    case leave(PreparedLeave?, of: PreparedMessage)
    /// The answer to a question of the server.
    case answer(UInt64, PreparedMessage)
    case decline(UInt64, AnswerAbsence)
    case forget(ack: UInt64)
    case want(Interest)
    case drop(Interest)
  }

  /// Bytes of the longest name of a host.
  static let hostLimit = 256

  var host: String
  /// Which life of the host says it.
  var life: UInt64
  var conversation: UInt64
  /// Counts from 1 in each conversation, so that what comes twice is once and a hole is seen.
  var number: UInt64
  var call: Call

  var fields: FleetFields {
    var fields = FleetFields()
    fields.add("h", host)
    fields.add("i", life)
    fields.add("c", conversation)
    fields.add("k", number)
    switch call {
    case .write(let message, let ack, let row):
      fields.add("op", "write")
      if let ack { fields.add("q", ack) }
      if let row { fields.add("x", row) }
      message.add(to: &fields)
    case .enter(let message, let ack, let leave):
      fields.add("op", "enter")
      if let ack { fields.add("q", ack) }
      message.add(to: &fields)
      leave?.add(to: &fields)
    case .leave(let leave, let entered):
      fields.add("op", "leave")
      entered.add(to: &fields)
      leave?.add(to: &fields)
    case .answer(let id, let message):
      fields.add("op", "answer")
      fields.add("q", id)
      message.add(to: &fields)
    case .decline(let id, let why):
      fields.add("op", why == .unheard ? "unheard" : "abandoned")
      fields.add("q", id)
    case .forget(let ack):
      fields.add("op", "forget")
      fields.add("q", ack)
    case .want(let interest):
      fields.add("op", "want")
      fields.add("p", FleetWire.bytes(of: interest))
    case .drop(let interest):
      fields.add("op", "drop")
      fields.add("p", FleetWire.bytes(of: interest))
    }
    return fields
  }

  init(host: String, life: UInt64, conversation: UInt64, number: UInt64, call: Call) {
    self.host = host
    self.life = life
    self.conversation = conversation
    self.number = number
    self.call = call
  }

  /// Nil for what no host of this version writes.
  init?(_ fields: FleetFields) {
    guard let host = fields.text("h"), let life = fields.number("i"), let conversation = fields.number("c"),
      let number = fields.number("k"), number <= FleetPosition.highest, life <= FleetPosition.highest,
      host.utf8.count <= Self.hostLimit, let call = Self.call(fields)
    else { return nil }
    self.init(host: host, life: life, conversation: conversation, number: number, call: call)
  }

  private static func call(_ fields: FleetFields) -> Call? {
    let id = fields.number("q")
    let interest = fields["p"].flatMap { FleetWire.interest($0) }
    return switch fields.text("op") {
    case "write": PreparedMessage(fields).map { .write($0, ack: id, row: fields.text("x")) }
    case "enter": PreparedMessage(fields).map { .enter($0, ack: id, leave: PreparedLeave(fields)) }
    case "leave": PreparedMessage(fields).map { .leave(PreparedLeave(fields), of: $0) }
    case "answer": id.flatMap { id in PreparedMessage(fields).map { .answer(id, $0) } }
    case "unheard": id.map { .decline($0, .unheard) }
    case "abandoned": id.map { .decline($0, .abandoned) }
    case "forget": id.map { .forget(ack: $0) }
    case "want": interest.map { .want($0) }
    case "drop": interest.map { .drop($0) }
    default: nil
    }
  }
}

/// What the holder says to one host: an entry of `re`.
struct FleetReplyEntry: Equatable, Sendable {
  enum Call: Equatable, Sendable {
    /// All that the host said in this conversation up to that number is written, as far as something was to be written.
    case written(upTo: UInt64)
    case acknowledged(UInt64, RemoteAnswer)
    case progressed(UInt64, RemoteAnswer)
    case failed(UInt64, RemoteError)
    /// What the host said under that number was not written, and will not be: what is known of the server makes it
    /// impossible.
    case refused(number: UInt64, MessageProblem)
    /// What the host said from that number on has not come: some of it was lost on its way. It is to be said again.
    case missing(from: UInt64)
    /// The server agrees, or says why it does not.
    case answered(Interest, refusal: FleetInterestRefusal?)
    /// The server does not want the answer any more.
    case withdrew(UInt64)
  }

  var call: Call
  /// The life of the host whose numbers it is about; nil where it is about none.
  var life: UInt64?

  init(_ call: Call, life: UInt64? = nil) { (self.call, self.life) = (call, life) }

  var fields: FleetFields {
    var fields = callFields
    if let life { fields.add("i", life) }
    return fields
  }

  private var callFields: FleetFields {
    var fields = FleetFields()
    switch call {
    case .written(let number): fields.add("k", number)
    case .acknowledged(let id, let answer):
      fields.add("ack", id)
      answer.add(to: &fields)
    case .progressed(let id, let answer):
      fields.add("part", id)
      answer.add(to: &fields)
    case .failed(let id, let error):
      fields.add("fail", id)
      fields.add("n", error.name)
      error.answer.add(to: &fields)
    case .refused(let number, let problem):
      fields.add("not", number)
      problem.add(to: &fields)
    case .answered(let interest, let refusal):
      fields.add("p", FleetWire.bytes(of: interest))
      refusal?.add(to: &fields)
    case .missing(let number): fields.add("again", number)
    case .withdrew(let id): fields.add("gone", id)
    }
    return fields
  }

  init?(_ fields: FleetFields) {
    guard let call = Self.call(fields) else { return nil }
    (self.call, life) = (call, fields.number("i"))
  }

  private static func call(_ fields: FleetFields) -> Call? {
    guard let first = fields.all.first else { return nil }
    let number = UInt64(String(decoding: first.value, as: UTF8.self))
    let answer = RemoteAnswer(fields)
    return switch first.name {
    case "k": number.map { .written(upTo: $0) }
    case "ack": number.flatMap { id in answer.map { .acknowledged(id, $0) } }
    case "part": number.flatMap { id in answer.map { .progressed(id, $0) } }
    case "fail":
      number.flatMap { id in
        answer.flatMap { answer in fields.text("n").map { .failed(id, RemoteError($0, answer)) } }
      }
    case "not": number.map { .refused(number: $0, MessageProblem(fields)) }
    case "p": FleetWire.interest(first.value).map { .answered($0, refusal: FleetInterestRefusal(fields)) }
    case "again": number.map { .missing(from: $0) }
    case "gone": number.map { .withdrew($0) }
    default: nil
    }
  }
}

extension MessageProblem {
  /// `w` the word, and either `m` the limit and `z` the size or `r` the sentence.
  fileprivate func add(to fields: inout FleetFields) {
    fields.add("w", word)
    switch self {
    case .invalid(let sentence), .outdated(let sentence): fields.add("r", sentence)
    case .tooLarge(let limit, let size), .tooLargeForFleet(let limit, let size):
      fields.add("m", UInt64(limit))
      fields.add("z", UInt64(size))
    }
  }

  fileprivate init(_ fields: FleetFields) {
    let sentence = fields.text("r") ?? "the server does not take it"
    if let limit = fields.number("m"), let size = fields.number("z") {
      self = .tooLarge(limit: Int(clamping: limit), size: Int(clamping: size))
    } else {
      self = fields.text("w") == Self.outdated(sentence).word ? .outdated(sentence) : .invalid(sentence)
    }
  }
}
