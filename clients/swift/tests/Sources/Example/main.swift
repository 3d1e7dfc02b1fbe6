import GatewayClient

let chat: Target = "chat"  // a name in the daemon's configuration, or a URL
let gateway = Gateway()

print(try await gateway.request(chat, "say", "hello").args)
for try await event in try await gateway.subscribe(chat, ["said"]) {
  print(event.name, event.args)
}
