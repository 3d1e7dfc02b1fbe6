/// Writes the messages of a client (WAMP section "Message Definitions"). Payloads are JSON text already and are copied
/// as they are; empty ones are left out, and an array stands wherever an object follows (section "Application
/// Payload").
enum WAMPWriter {
  /// `Arguments` and `ArgumentsKw` on their way out: the inside of an array, and a whole object or nothing.
  struct Payload: Equatable, Sendable {
    var arguments: [UInt8] = []
    var keywords: [UInt8] = []

    /// Both, from the comma before the first to the end of the message.
    var tail: [UInt8] {
      var bytes: [UInt8] = []
      if !arguments.isEmpty || !keywords.isEmpty {
        bytes.append(contentsOf: [UInt8(ascii: ","), UInt8(ascii: "[")])
        bytes += arguments
        bytes.append(UInt8(ascii: "]"))
      }
      if !keywords.isEmpty {
        bytes.append(UInt8(ascii: ","))
        bytes += keywords
      }
      bytes.append(UInt8(ascii: "]"))
      return bytes
    }

    /// A URI and the payload behind it, to the end of the message.
    func body(after uri: String) -> [UInt8] {
      var writer = JSONWriter(reserving: uri.utf8.count + arguments.count + keywords.count + 16)
      writer.string(uri)
      return writer.bytes + tail
    }
  }

  static func hello(realm: String, _ details: (inout JSONWriter) -> Void) -> [UInt8] {
    message(.hello) { writer in
      writer.string(realm)
      writer.object(details)
    }
  }

  /// `extra` is the text of an object.
  static func authenticate(signature: String, extra: [UInt8]) -> [UInt8] {
    message(.authenticate) { writer in
      writer.string(signature)
      writer.raw(extra)
    }
  }

  static func abort(_ reason: WAMPURI, message text: String) -> [UInt8] {
    message(.abort) { writer in
      writer.object { $0.member("message", text) }
      writer.string(reason.text)
    }
  }

  static func goodbye(_ reason: WAMPURI) -> [UInt8] {
    message(.goodbye) { writer in
      writer.object { _ in }
      writer.string(reason.text)
    }
  }

  static func subscribe(_ request: UInt64, _ topic: WAMPTopic) -> [UInt8] {
    message(.subscribe) { writer in
      writer.integer(request)
      writer.object { if topic.match != .exact { $0.member("match", topic.match.rawValue) } }
      writer.string(topic.uri)
    }
  }

  static func register(_ request: UInt64, _ topic: WAMPTopic, invoke: WAMPInvocationPolicy) -> [UInt8] {
    message(.register) { writer in
      writer.integer(request)
      writer.object {
        if topic.match != .exact { $0.member("match", topic.match.rawValue) }
        if invoke != .single { $0.member("invoke", invoke.rawValue) }
      }
      writer.string(topic.uri)
    }
  }

  /// UNSUBSCRIBE or UNREGISTER.
  static func giveBack(_ code: WAMPCode, _ request: UInt64, id: UInt64) -> [UInt8] {
    message(code) { writer in
      writer.integer(request)
      writer.integer(id)
    }
  }

  /// PUBLISH; `body` is the topic and what follows it. The publisher is not excluded: the local programs that
  /// subscribed to the topic share its session.
  static func publish(_ request: UInt64, acknowledged: Bool, body: ArraySlice<UInt8>) -> [UInt8] {
    let options = acknowledged ? #",{"acknowledge":true,"exclude_me":false},"# : #",{"exclude_me":false},"#
    return head([UInt64(WAMPCode.publish.rawValue), request], reserving: body.count) + options.utf8 + body
  }

  /// CALL; `body` is the procedure and what follows it.
  static func call(_ request: UInt64, body: ArraySlice<UInt8>) -> [UInt8] {
    head([UInt64(WAMPCode.call.rawValue), request], reserving: body.count) + #",{"receive_progress":true},"#.utf8 + body
  }

  static func cancel(_ request: UInt64, mode: String) -> [UInt8] {
    message(.cancel) { writer in
      writer.integer(request)
      writer.object { $0.member("mode", mode) }
    }
  }

  /// The result of an invocation; `body` is its payload, to the end of the message.
  static func yield(_ request: UInt64, body: ArraySlice<UInt8>) -> [UInt8] {
    head([UInt64(WAMPCode.yield.rawValue), request], reserving: body.count) + ",{}".utf8 + body
  }

  /// The failure of an invocation; `body` is its URI and what follows it.
  static func error(_ request: UInt64, body: ArraySlice<UInt8>) -> [UInt8] {
    let numbers = [UInt64(WAMPCode.error.rawValue), UInt64(WAMPCode.invocation.rawValue), request]
    return head(numbers, reserving: body.count) + ",{},".utf8 + body
  }

  // MARK: - Details

  private static func message(_ code: WAMPCode, _ elements: (inout JSONWriter) -> Void) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginArray()
    writer.integer(code.rawValue)
    elements(&writer)
    writer.endArray()
    return writer.bytes
  }

  /// `[n,n`, without a closing bracket.
  private static func head(_ numbers: [UInt64], reserving count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 64)
    for number in numbers {
      bytes.append(bytes.isEmpty ? UInt8(ascii: "[") : UInt8(ascii: ","))
      bytes.append(decimal: number)
    }
    return bytes
  }
}
