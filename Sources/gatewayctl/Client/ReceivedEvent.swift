import GatewayCore

/// One event of a subscription. Byte arrays hold raw JSON text, exactly as the daemon wrote it.
struct ReceivedEvent: Equatable, Sendable {
  /// The event's name, a JSON string.
  var name: [UInt8]
  /// A JSON array.
  var args: [UInt8]
  /// A JSON object; nil where the upstream has none.
  var kwargs: [UInt8]?
  var sequence: UInt64
  var epoch: String
  /// Milliseconds since 1970.
  var time: String
  /// The token to answer with, where the server waits for an acknowledgement.
  var ack: String?

  /// From the `params` of an `event` notification; nil if they lack something.
  init?(_ params: RawJSONObject, epoch: String) {
    guard let name = params["event"], let args = params["args"], let sequence = params.integer("seq"),
      let number = UInt64(sequence), let time = params.integer("time")
    else { return nil }
    self.name = name
    self.args = args
    kwargs = params["kwargs"]
    self.sequence = number
    self.epoch = epoch
    self.time = time
    ack = params.string("ack")
  }

  /// `{"event":…,"args":…,"seq":…,"epoch":…,"time":…}`, with `kwargs` behind `args` where there are some.
  var line: [UInt8] {
    var writer = JSONWriter(reserving: args.count + 128)
    writer.beginObject()
    writer.key("event")
    writer.raw(name)
    writer.key("args")
    writer.raw(args)
    if let kwargs {
      writer.key("kwargs")
      writer.raw(kwargs)
    }
    writer.key("seq")
    writer.integer(sequence)
    writer.key("epoch")
    writer.string(epoch)
    writer.key("time")
    writer.raw(Array(time.utf8))
    writer.endObject()
    return writer.bytes
  }

  /// The event's name as text.
  var nameText: String {
    name.first == UInt8(ascii: "\"") ? JSONScanner.decodeString(name.span.bytes, 0..<name.count) : ""
  }

  /// What a command finds in its environment. A NUL in a name, which no environment can hold, becomes U+FFFD.
  func variables(target: Target) -> [(name: String, value: String)] {
    let kwargs = kwargs.map { String(decoding: $0, as: UTF8.self) } ?? ""
    return [
      ("GATEWAY_EVENT", nameText.replacingNUL), ("GATEWAY_SEQ", "\(sequence)"), ("GATEWAY_EPOCH", epoch.replacingNUL),
      ("GATEWAY_TIME", time), ("GATEWAY_URL", target.asTyped), ("GATEWAY_KWARGS", kwargs),
    ]
  }
}

extension String {
  fileprivate var replacingNUL: String {
    String(String.UnicodeScalarView(unicodeScalars.map { $0 == "\0" ? "\u{fffd}" : $0 }))
  }
}

/// Events that were missed.
struct ReceivedGap: Equatable, Sendable {
  /// What the daemon said of it, a raw JSON object without the subscription.
  private(set) var members: [UInt8]
  var epoch: String?
  var range: ClosedRange<UInt64>?
  var count: UInt64?
  var reason: String
  /// What the daemon adds in a sentence.
  var detail: String?
  /// Where `epoch` begins: the number of the last event before it.
  var start: UInt64?

  /// From the `params` of a `gap` notification.
  init(_ params: RawJSONObject) {
    members = params.text(without: "subscription")
    epoch = params.string("epoch")
    count = params.integer("count").flatMap { UInt64($0) }
    reason = params.string("reason") ?? "unknown"
    detail = params.string("detail")
    start = params.integer("seq").flatMap { UInt64($0) }
    guard let from = params.integer("from").flatMap({ UInt64($0) }),
      let to = params.integer("to").flatMap({ UInt64($0) }),
      from <= to
    else { return }
    range = from...to
  }

  /// One that is noticed here, of which only the cause is known.
  init(reason: String) {
    self.reason = reason
    members = Client.object { writer in
      writer.key("reason")
      writer.string(reason)
    }
  }

  /// `{"gap":{…}}`.
  var line: [UInt8] {
    Client.object { writer in
      writer.key("gap")
      writer.raw(members)
    }
  }

  /// What was missed and why, as a clause.
  var description: String {
    let what =
      switch (count, range) {
      case (let count?, let range?):
        "\(count) event\(count == 1 ? "" : "s") missed, \(range.lowerBound) to \(range.upperBound)"
      case (nil, let range?): "events missed, \(range.lowerBound) to \(range.upperBound)"
      case (let count?, nil): "\(count) event\(count == 1 ? "" : "s") missed"
      case (nil, nil): "events may have been missed"
      }
    return "\(what): \(detail ?? cause)"
  }

  private var cause: String {
    switch reason {
    case "slow_consumer": "they were not read fast enough"
    case "upstream": "the connection to the server was interrupted"
    case "too_large": "larger than the daemon's line limit"
    case "undecodable": "the server sent something that is no event"
    case "expired": "the daemon no longer remembers them"
    case "restart": "the daemon was restarted"
    default: reason
    }
  }
}
