// Prints each event and each gap of a subscription as a JSON line, for Tests/IntegrationTests/client_loop.py:
// follow.js UPSTREAM [EPOCH:SEQ]

import { writeSync } from "node:fs";
import { Gateway } from "../index.js";

const [upstream, position] = process.argv.slice(2);
const [epoch, seq] = position?.split(":") ?? [];
const since = position && { epoch, seq: Number(seq) };
for await (const { type, args, ...item } of new Gateway().subscribe(upstream, { since, gaps: true })) {
  writeSync(1, JSON.stringify(type === "gap" ? { gap: item } : { args: args.slice(0, 1), ...item }) + "\n");
}
