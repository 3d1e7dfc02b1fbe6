// Bytes, at the top and inside, in both directions.
import { io } from "socket.io-client";

const socket = io(process.argv[2], { transports: ["websocket"] });
const bytes = (value) => (ArrayBuffer.isView(value) || value instanceof ArrayBuffer ? [...new Uint8Array(value.buffer ?? value, value.byteOffset, value.byteLength)] : value);

socket.on("connect", async () => {
  const [first, second] = await new Promise((resolve) =>
    socket.emit("echo", Buffer.from([1, 2, 3]), { inside: [new Uint8Array([4, 5])], text: "t" }, (...args) => resolve(args)));
  console.log(bytes(first), bytes(second.inside[0]), second.text);
  console.log(bytes(await socket.emitWithAck("one", new Uint8Array([9, 8, 7, 6]).subarray(1, 3))));
  console.log(bytes(await socket.emitWithAck("one", new ArrayBuffer(2))));
  console.log(await socket.emitWithAck("one", { $bin: "not bytes" }), await socket.emitWithAck("one", { $$bin: { $bin: 1 } }));
  console.log(await socket.emitWithAck("one", { date: new Date(0), left: undefined, list: [undefined, () => 1] }));
  socket.disconnect();
});
