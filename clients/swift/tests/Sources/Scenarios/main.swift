// Performs the steps of clients/scenarios.json: JSON lines in, JSON lines out. `{"id":1,"op":"request","with":{…}}` is
// answered with `{"id":1,"value":…}` or `{"id":1,"error":{"type":…}}`, each when it is done.

import GatewayClient
import Glibc

/// The steps by their `op`.
actor Operations {
  private let gateway = Gateway(name: "scenarios")
  private var subscriptions: [String: Subscription] = [:]
  private var running: [Int: Task<Void, Never>] = [:]

  func begin(_ step: JSON) {
    guard let id = step["id"]?.int, let operation = step["op"]?.string else { return }
    let parameters = step["with"] ?? [:]
    if operation == "cancel" {
      if let other = parameters["id"]?.int { running[other]?.cancel() }
      return tell(id, "value", [:])
    }
    running[id] = Task {
      do {
        tell(id, "value", try await perform(operation, Parameters(parameters)))
      } catch {
        tell(id, "error", Self.shown(error))
      }
      running[id] = nil
    }
  }

  private func perform(_ operation: String, _ with: Parameters) async throws -> JSON {
    switch operation {
    case "subscribe":
      subscriptions[with.name] = try await gateway.subscribe(
        with.target, with.events, since: with.position, last: with["last"]?.int, strict: with.flag("strict"),
        gaps: with.flag("gaps"), states: with.flag("states"), window: with["window"]?.int ?? 256,
        queue: with["queue"]?.int, enter: with.messages("enter").compactMap { $0 }, leave: with.messages("leave"))
      return [:]
    case "next":
      var items: [JSON] = []
      for _ in 0..<(with["count"]?.int ?? 1) {
        guard let item = try await subscriptions[with.name]?.next() else { throw CancellationError() }
        items.append(Self.shown(item))
      }
      return .array(items)
    case "unsubscribe":
      subscriptions.removeValue(forKey: with.name)?.close()
      return [:]
    case "position": return try JSON(encoding: subscriptions[with.name]?.position)
    case "send":
      let sent = try await gateway.send(
        with.target, with.event, arguments: with.arguments, delivery: with.delivery, timeout: with.timeout,
        options: with.options)
      return ["state": .string(sent.state.rawValue), "duplicate": .bool(sent.isDuplicate)]
    case "request":
      let answer = try await gateway.request(
        with.target, with.event, arguments: with.arguments, timeout: with.timeout ?? .seconds(10), options: with.options
      )
      return ["args": .array(answer.args.values)]
    case "wait":
      try await gateway.wait(for: with.target, state: with.state, timeout: with.timeout ?? .seconds(60))
      return ["state": .string(with.state.rawValue)]
    case "state": return ["state": .string(try await gateway.state(of: with.target).state.rawValue)]
    case "history":
      let past = try await gateway.history(
        with.target, with.events, since: with.position, limit: with["limit"]?.int ?? 100)
      return ["events": .array(past.events.map { Self.shown(.event($0)) }), "complete": .bool(past.isComplete)]
    default: return try await gateway.call(with["method"]?.string ?? "", with["params"] ?? [:])
    }
  }

  private static func shown(_ item: Item) -> JSON {
    switch item {
    case .event(let event): ["event": .string(event.name), "args": .array(event.args.values)]
    case .gap(let gap): ["gap": .string(gap.reason)]
    case .state(let change): ["state": .string(change.state.rawValue)]
    }
  }

  private static func shown(_ error: any Error) -> JSON {
    guard let error = error as? GatewayError else {
      return ["type": error is CancellationError ? "Cancelled" : .string("\(error)")]
    }
    func text(_ value: String?) -> JSON { value.map { .string($0) } ?? .null }
    return [
      "type": .string(error.kind.rawValue), "code": error.code.map { .number(JSONNumber($0)) } ?? .null,
      "retry": error.retry.map { .bool($0) } ?? .null, "reason": text(error.reason), "advice": text(error.advice),
    ]
  }

  private func tell(_ id: Int, _ word: String, _ value: JSON) {
    let line: JSON = .object([.init("id", .number(JSONNumber(id))), .init(word, value)])
    var text = line.text + [UInt8(ascii: "\n")]
    while !text.isEmpty {
      let count = write(1, text, text.count)
      guard count > 0 else { exit(1) }
      text.removeFirst(count)
    }
  }
}

/// The `with` of a step.
struct Parameters {
  private let object: JSON
  init(_ object: JSON) { self.object = object }

  subscript(key: String) -> JSON? { object[key] }
  func flag(_ key: String) -> Bool { object[key]?.bool ?? false }
  private func duration(_ key: String) -> Duration? { object[key]?.int.map { .milliseconds($0) } }

  var name: String { object["name"]?.string ?? "" }
  var target: Target { Target(object["target"]?.string ?? "") }
  var event: String { object["event"]?.string ?? "" }
  var events: [String]? { object["events"]?.array?.compactMap(\.string) }
  var timeout: Duration? { duration("timeout") }
  var state: ConnectionState { ConnectionState(rawValue: object["state"]?.string ?? "") }
  var delivery: Delivery { object["delivery"]?.string.map { Delivery(rawValue: $0) } ?? .accepted }
  /// Each is an array of the event and its arguments, an object of the protocol, or null.
  func messages(_ key: String) -> [EnterMessage?] {
    (object[key]?.array ?? []).map { message in
      if let parts = message.array, let event = parts.first?.string {
        return EnterMessage(event, Array(parts.dropFirst()))
      }
      guard let event = message["event"]?.string else { return nil }
      return EnterMessage(
        event, message["args"]?.array ?? [], kwargs: message["kwargs"], ack: message["ack"]?.bool ?? false)
    }
  }

  var position: Position? { try? object["since"]?.decode(Position.self) }

  var arguments: Arguments {
    get throws { try Arguments(text: (object["args"] ?? []).text) }
  }

  var options: SendOptions {
    SendOptions(key: object["key"]?.string, ttl: duration("ttl"), noQueue: flag("no_queue"))
  }
}

let operations = Operations()
while let line = readLine() { await operations.begin(try JSON(text: line)) }
