import Testing

@testable import GatewayClient

/// A `ClientMachine` with a clock that stands still, and a daemon by hand.
struct MachineRig {
  var machine: ClientMachine
  var now = ContinuousClock.now
  /// What the machine wrote, by method, and what else it ordered.
  private(set) var written: [JSON] = []
  private(set) var settled: [CallID: Result<JSON, GatewayError>] = [:]
  private(set) var dials = 0
  private(set) var hangUps = 0

  init(connectTimeout: Duration = .seconds(5)) {
    machine = ClientMachine(path: "/run/gatewayd.sock", name: "tests", connectTimeout: connectTimeout, seed: 1)
  }

  /// The methods that were written, in their order.
  var methods: [String] { written.compactMap { $0["method"]?.string } }

  /// The params of the last call of a method.
  func params(_ method: String) -> JSON? { written.last { $0["method"] == .string(method) }?["params"] }

  func outcome(_ id: CallID) -> String? {
    switch settled[id] {
    case nil: nil
    case .success(let result): result.description
    case .failure(let error): error.kind.rawValue
    }
  }

  mutating func perform(_ actions: [ClientMachine.Action]) {
    for action in actions {
      switch action {
      case .dial: dials += 1
      case .hangUp: hangUps += 1
      case .write(let line):
        #expect(line.last == 10)
        if let json = try? JSON(text: line) { written.append(json) } else { Issue.record("\(line) is no JSON") }
      case .settle(let id, let result):
        #expect(settled[id] == nil, "call \(id) is settled twice")
        settled[id] = result.map(\.json)
      case .progress, .offer: break
      }
    }
  }

  // MARK: The program

  mutating func call(
    _ method: String, _ patience: Call.Patience = .answer(.seconds(5)), isRepeatable: Bool = false,
    params: Params = Params()
  ) -> CallID {
    var call = Call(method: method, params: params, patience: patience, reach: .seconds(5))
    call.isRepeatable = isRepeatable
    let (id, actions) = machine.submit(call, now: now)
    perform(actions)
    return id
  }

  mutating func withdraw(_ id: CallID) { perform(machine.withdraw(id, now: now)) }

  mutating func subscribe(_ change: (inout SubscribeOptions) -> Void = { _ in }) -> (SubscriptionID, CallID) {
    var options = SubscribeOptions(target: "chat")
    change(&options)
    let (id, call, actions) = machine.subscribe(options, now: now)
    perform(actions)
    return (id, call)
  }

  /// What a reader of a subscription gets now.
  mutating func take(_ id: SubscriptionID) -> SubscriptionMachine.Taken {
    let (taken, actions) = machine.take(id)
    perform(actions)
    return taken
  }

  /// The same as words: `tick 4`, `gap upstream`, `state connected`, `nothing`, `end`.
  mutating func read(_ id: SubscriptionID) -> String {
    switch take(id) {
    case .item(.event(let event)): "\(event.name) \(event.seq)"
    case .item(.gap(let gap)): "gap \(gap.reason)"
    case .item(.state(let change)): "state \(change.state.rawValue)"
    case .nothing: "nothing"
    case .end(let error): error.map { "end \($0.kind.rawValue)" } ?? "end"
    }
  }

  mutating func close() { perform(machine.close()) }

  // MARK: The world

  mutating func dialed(_ error: GatewayError? = nil) { perform(machine.dialed(error, now: now)) }

  mutating func say(_ line: String) { perform(machine.received(Array(line.utf8), now: now)) }

  /// The daemon is there and greets.
  mutating func greet(inflight: Int = 256, line: Int = 1 << 20) {
    dialed()
    say(#"{"jsonrpc":"2.0","id":0,"result":{"instance":"i","limits":{"line":\#(line),"inflight":\#(inflight)}}}"#)
  }

  mutating func answer(_ id: CallID, _ result: String = "{}") {
    say(#"{"jsonrpc":"2.0","id":\#(id),"result":\#(result)}"#)
  }

  mutating func refuse(_ id: CallID, _ type: String, retry: Bool) {
    say(#"{"jsonrpc":"2.0","id":\#(id),"error":{"code":-1,"message":"","data":{"type":"\#(type)","retry":\#(retry)}}}"#)
  }

  mutating func subscribed(_ id: CallID, epoch: String = "e", seq: Int = 0, replayed: Int = 0) {
    answer(id, #"{"subscription":"s1","state":"connected","epoch":"\#(epoch)","seq":\#(seq),"replayed":\#(replayed)}"#)
  }

  mutating func event(_ seq: Int, _ name: String = "tick", subscription: String = "s1") {
    notify("event", #"{"subscription":"\#(subscription)","seq":\#(seq),"time":1,"event":"\#(name)","args":[]}"#)
  }

  mutating func notify(_ method: String, _ params: String) {
    say(#"{"jsonrpc":"2.0","method":"\#(method)","params":\#(params)}"#)
  }

  mutating func lose() { perform(machine.lost(now: now)) }

  mutating func pass(_ duration: Duration) {
    now += duration
    perform(machine.tick(now: now))
  }

  /// The daemon goes and comes back: the pause and the greeting between them.
  mutating func restart() {
    lose()
    pass(.milliseconds(20))
    greet()
  }

  /// The id of the last `subscribe` that was written.
  var lastSubscribe: CallID { written.last { $0["method"] == "subscribe" }?["id"]?.int ?? -1 }
}
