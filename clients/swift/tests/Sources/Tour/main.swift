import GatewayClient

let gateway = Gateway()

struct Order: Codable { var number: Int }

try await gateway.wait(for: "chat", timeout: .seconds(60))  // "chat": a name in the daemon's configuration
try await gateway.send("chat", "paid", Order(number: 7), delivery: .durable, options: SendOptions(key: "order-7"))
let past = try await gateway.history("chat", ["price"], limit: 10)
let state = try await gateway.state(of: "chat")
for try await item in try await gateway.subscribe("chat", answer: true, gaps: true).items {
  switch item {
  case .event(let event):
    let (number, note) = try event.decode(Int.self, String?.self)  // the first arguments, by their types
    print(number, note ?? "")
    if event.ack != nil { try await gateway.respond(to: event, "yes") }  // the server asked for an acknowledgement
  case .gap(let gap): print("missed", gap.count ?? 0, "events:", gap.reason)
  case .state: break
  }
}
