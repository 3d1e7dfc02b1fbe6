// Prints each event and each gap of an upstream as a line of JSON, for Tests/IntegrationTests/client_loop.py:
// Follow UPSTREAM [EPOCH:SEQ]

import GatewayClient
import Glibc

let words = Array(CommandLine.arguments.dropFirst())
var since: Position?
if words.count > 1, let colon = words[1].lastIndex(of: ":"), let seq = Int(words[1][colon...].dropFirst()) {
  since = Position(epoch: String(words[1][..<colon]), seq: seq)
}

func member(_ name: String, _ value: Int?) -> [JSON.Member] {
  value.map { [.init(name, .number(JSONNumber($0)))] } ?? []
}

let subscription = try await Gateway(connectTimeout: .seconds(60)).subscribe(Target(words[0]), since: since, gaps: true)
for try await item in subscription.items {
  var line: [JSON.Member]
  switch item {
  case .event(let event):
    line = [
      .init("event", .string(event.name)), .init("args", .array(event.args.values.prefix(1).map { $0 })),
      .init("epoch", .string(event.epoch)),
    ]
    line += member("seq", event.seq)
  case .gap(let gap):
    let facts = [.init("reason", .string(gap.reason)), .init("epoch", .string(gap.epoch))] + member("seq", gap.seq)
    line = [.init("gap", .object(facts + member("to", gap.last)))]
  case .state: continue
  }
  let text = JSON.object(line).text + [UInt8(ascii: "\n")]
  guard write(1, text, text.count) == text.count else { exit(1) }
}
