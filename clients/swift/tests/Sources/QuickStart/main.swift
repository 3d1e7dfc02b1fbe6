import GatewayClient

let chat = Target(CommandLine.arguments.dropFirst().first ?? "http://localhost:3000")
let gateway = Gateway()

try await gateway.send(chat, "say", "hello")  // waits in the daemon while the server is away
for try await event in try await gateway.subscribe(chat, ["said"], last: 1) {
  print(event.name, event.args)
  let answer = try await gateway.request(chat, "one", "how are you?", timeout: .seconds(5))
  print("the server answered", try answer.decode(String.self))
  break  // leaves the subscription
}
