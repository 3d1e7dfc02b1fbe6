/// What the daemon tells a local client unasked, each a whole line.
enum LocalNotification {
  /// The beginning of an `event` line, which differs from subscription to subscription.
  static func eventHead(subscription: String) -> [UInt8] {
    var writer = JSONWriter(reserving: 96)
    writer.bytes.append(#"{"jsonrpc":"2.0","method":"event","params":{"subscription":"#)
    writer.string(subscription)
    writer.bytes.append(UInt8(ascii: ","))
    return writer.bytes
  }

  /// Appends the rest of an `event` line, which all subscriptions share. `name` is the raw JSON text of the event's
  /// name; a name that is no string is put in quotes. `arguments` is the raw text of the arguments, separated by
  /// commas, without brackets; `kwargs` that of an object, where there is one. All must be valid JSON without line
  /// breaks between tokens, or one line became several. `time` is in milliseconds since 1970. Returns where the name's
  /// JSON text stands.
  @discardableResult
  static func eventTail(
    seq: UInt64, time: Int64, name: RawSpan, arguments: RawSpan, kwargs: RawSpan? = nil, ack: String?,
    into line: inout [UInt8]
  ) -> Range<Int> {
    eventTail(
      EventStamp(sequence: seq, time: time), name: name, arguments: arguments, kwargs: kwargs, ack: ack, into: &line)
  }

  /// The same with a number and a time that are written out already.
  @discardableResult
  static func eventTail(
    _ stamp: EventStamp, name: RawSpan, arguments: RawSpan, kwargs: RawSpan?, ack: String?,
    into line: inout [UInt8]
  ) -> Range<Int> {
    let isString = JSONScanner.byte(name, 0) == UInt8(ascii: "\"")
    let room = EventStamp.tailRoom + name.byteCount + arguments.byteCount
    let before = line.count
    let isWhole = kwargs == nil && ack == nil
    var range = 0..<0
    line.append(room: room) { writer in
      let origin = writer.end
      writer.put(#""seq":"#)
      writer.put(stamp.sequence)
      writer.put(#","time":"#)
      writer.put(stamp.time)
      writer.put(#","event":"#)
      let start = writer.end
      if !isString { writer.put("\"") }
      writer.put(name)
      if !isString { writer.put("\"") }
      range = before &+ start &- origin..<before &+ writer.end &- origin
      writer.put(#","args":["#)
      writer.put(arguments)
      if isWhole { writer.put("]}}\n") } else { writer.put("]") }
    }
    if !isWhole { appendRest(kwargs, ack, to: &line) }
    return range
  }

  private static func appendRest(_ kwargs: RawSpan?, _ ack: String?, to line: inout [UInt8]) {
    if let kwargs {
      line.append(#","kwargs":"#)
      line.append(kwargs)
    }
    if let ack {
      var token = JSONWriter(reserving: 16)
      token.string(ack)
      line.append(#","ack":"#)
      line.append(contentsOf: token.bytes)
    }
    line.append("}}\n")
  }

  /// The token at the end of an event's tail; nil where it wants no answer.
  static func answerToken(inTail tail: [UInt8]) -> String? {
    // Nearly all ask for no answer.
    guard tail.suffix(4).first == UInt8(ascii: "\"") else { return nil }
    let (mark, end) = (Array(#","ack":""#.utf8), Array("\"}}\n".utf8))
    // A member of the arguments ends with more brackets than that.
    guard tail.count > end.count, tail[(tail.count - end.count)...].elementsEqual(end) else { return nil }
    let behind = tail.count - end.count
    guard let quote = tail[..<behind].lastIndex(of: UInt8(ascii: "\"")), quote >= mark.count,
      tail[(quote - mark.count + 1)...quote].elementsEqual(mark)
    else { return nil }
    return String(decoding: tail[(quote + 1)..<behind], as: UTF8.self)
  }

  /// The name of an event behind its tail.
  static func eventName(inTail tail: RawSpan) -> String {
    nameRange(inTail: tail).map { JSONScanner.decodeString(tail, $0) } ?? ""
  }

  /// Where the name's JSON text stands in a tail.
  static func nameRange(inTail tail: RawSpan) -> Range<Int>? {
    var at = 0
    // Two numbers stand before it, and nothing that is not written above.
    for _ in 0..<3 {
      while at < tail.byteCount, JSONScanner.byte(tail, at) != UInt8(ascii: ":") { at += 1 }
      at += 1
    }
    guard at < tail.byteCount else { return nil }
    return try? JSONScanner.scanString(tail, &at)
  }

  /// The number and the time of an event behind its tail; nil for what is no tail.
  static func place(inTail tail: RawSpan) -> (sequence: UInt64, time: Int64)? {
    var at = 0
    guard let sequence = number(behind: #""seq":"#, tail, &at), let time = number(behind: #","time":"#, tail, &at)
    else {
      return nil
    }
    return (sequence, Int64(time))
  }

  /// A number behind a key; at most 2^53.
  private static func number(behind key: StaticString, _ tail: RawSpan, _ at: inout Int) -> UInt64? {
    let start = at
    guard tail.byteCount - start > key.utf8CodeUnitCount,
      key.withUTF8Buffer({ key in key.indices.allSatisfy { JSONScanner.byte(tail, start + $0) == key[$0] } })
    else { return nil }
    at += key.utf8CodeUnitCount
    let first = at
    var number: UInt64 = 0
    while at < tail.byteCount, case let digit = JSONScanner.byte(tail, at) &- UInt8(ascii: "0"), digit < 10 {
      number = number * 10 + UInt64(digit)
      guard number <= 1 << 53 else { return nil }
      at += 1
    }
    return at > first ? number : nil
  }

  /// A transition of a subscription's connection. `retryIn` is the time to the next attempt in milliseconds.
  static func state(
    subscription: String, state: ConnectionState, epoch: String, attempt: Int?, retryIn: Int64?, reason: DownReason?,
    detail: String?, status: Int?, isRecovered: Bool = false
  ) -> [UInt8] {
    stateToMany(
      state, epoch: epoch, attempt: attempt, retryIn: retryIn, reason: reason, detail: detail, status: status,
      isRecovered: isRecovered
    ).line(for: subscription)
  }

  /// The same for many subscriptions.
  static func stateToMany(
    _ state: ConnectionState, epoch: String, attempt: Int?, retryIn: Int64?, reason: DownReason?, detail: String?,
    status: Int?, isRecovered: Bool
  ) -> SharedNotification {
    toMany("state") { writer in
      writer.member("state", state.rawValue)
      writer.member("epoch", epoch)
      if let attempt { writer.member("attempt", attempt) }
      if let retryIn { writer.member("in", retryIn) }
      if let reason { writer.member("reason", reason.rawValue) }
      if let detail { writer.member("detail", detail) }
      if let status { writer.member("status", status) }
      if isRecovered {
        writer.key("recovered")
        writer.bool(true)
      }
    }
  }

  /// Events are missing here. Without a range it is not known which. `start` is the last number before an epoch that
  /// begins here; `detail` is a sentence for a person.
  static func gap(
    subscription: String, epoch: String, range: ClosedRange<UInt64>?, count: UInt64?, reason: GapReason,
    start: UInt64? = nil, detail: String? = nil
  ) -> [UInt8] {
    gapToMany(epoch: epoch, range: range, count: count, reason: reason, start: start, detail: detail)
      .line(for: subscription)
  }

  /// The same for many subscriptions.
  static func gapToMany(
    epoch: String, range: ClosedRange<UInt64>?, count: UInt64?, reason: GapReason, start: UInt64?, detail: String?
  ) -> SharedNotification {
    toMany("gap") { writer in
      writer.member("epoch", epoch)
      if let range {
        writer.member("from", range.lowerBound)
        writer.member("to", range.upperBound)
      }
      if let count { writer.member("count", count) }
      if let start { writer.member("seq", start) }
      writer.member("reason", reason.rawValue)
      if let detail { writer.member("detail", detail) }
    }
  }

  /// One fact of a trace.
  static func trace(_ trace: String, time: Int64, fact: TraceFact, payload: String?) -> [UInt8] {
    line("trace") { writer in
      writer.member("trace", trace)
      writer.member("time", time)
      writer.member("direction", fact.direction.rawValue)
      writer.member("layer", fact.layer.rawValue)
      writer.member("text", fact.text)
      if let payload { writer.member("payload", payload) }
    }
  }

  /// Facts of a trace are missing here.
  static func trace(_ trace: String, time: Int64, dropped: UInt64) -> [UInt8] {
    line("trace") { writer in
      writer.member("trace", trace)
      writer.member("time", time)
      writer.member("text", "\(dropped) lines were dropped, because the client did not read")
      writer.member("dropped", dropped)
    }
  }

  /// A finding of an examination that goes on.
  static func progress(_ id: RequestID, _ finding: DoctorFinding) -> [UInt8] {
    line("progress") { writer in
      writer.key("id")
      id.write(into: &writer)
      writer.key("args")
      writer.beginArray()
      writer.object { finding.write(into: &$0) }
      writer.endArray()
    }
  }

  /// A part of the answer to a call, whose rest follows.
  static func progress(_ id: RequestID, _ answer: RemoteAnswer) -> [UInt8] {
    line("progress") { writer in
      writer.key("id")
      id.write(into: &writer)
      answer.write(into: &writer)
    }
  }

  /// The daemon is about to close the socket. `reconnectIn` is when to come back, where that makes sense.
  static func goodbye(reason: String, reconnectIn: Duration?) -> [UInt8] {
    line("goodbye") { writer in
      writer.member("reason", reason)
      if let reconnectIn { writer.member("reconnect_in", reconnectIn.milliseconds) }
    }
  }

  private static func toMany(_ method: String, _ params: (inout JSONWriter) -> Void) -> SharedNotification {
    let text = line(method) { writer in
      writer.member("subscription", "")
      params(&writer)
    }
    return SharedNotification(text, withoutID: #"{"jsonrpc":"2.0","method":"\#(method)","params":{"subscription":"#)
  }

  private static func line(_ method: String, _ params: (inout JSONWriter) -> Void) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("jsonrpc", "2.0")
    writer.member("method", method)
    writer.key("params")
    writer.beginObject()
    params(&writer)
    writer.endObject()
    return writer.endLine()
  }
}

/// What many subscriptions are told, written once but for their ids.
struct SharedNotification {
  private let head: [UInt8]
  private let tail: [UInt8]

  /// A line with an empty id behind what stands before that.
  fileprivate init(_ line: [UInt8], withoutID head: String) {
    self.head = Array(head.utf8)
    tail = Array(line[(self.head.count + 2)...])
  }

  /// The line for a subscription.
  func line(for subscription: String) -> [UInt8] {
    var writer = JSONWriter(reserving: head.count + subscription.utf8.count + 2 + tail.count)
    writer.bytes.append(contentsOf: head)
    writer.string(subscription)
    writer.bytes.append(contentsOf: tail)
    return writer.bytes
  }
}

/// The number and the time of an event as its line says them.
struct EventStamp: Equatable, Sendable {
  /// Bytes of a notification for everything but the name and the arguments: these two numbers (`DecimalText.room`), the
  /// keys between them, quotes.
  static let tailRoom = 96

  private(set) var sequence = DecimalText()
  private(set) var time = DecimalText()

  init() {}

  /// `time` in milliseconds since 1970; what is before that counts as 1970.
  init(sequence: UInt64, time: Int64) { set(sequence: sequence, time: time) }

  mutating func set(sequence: UInt64, time: Int64) {
    self.sequence.set(sequence)
    self.time.set(UInt64(clamping: time))
  }
}
