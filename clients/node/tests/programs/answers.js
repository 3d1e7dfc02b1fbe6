// Acknowledgements, time-outs, and what happens to them when the socket is closed.
import { io } from "socket.io-client";

const socket = io(process.argv[2], { transports: ["websocket"] });
const until = (event) => new Promise((resolve) => socket.once(event, (...args) => resolve(args)));

socket.emit("one", "before the connection", (answer) => console.log("answer", answer));
const early = socket.emitWithAck("one", "early");
await until("connect");
console.log(socket.connected, socket.disconnected, socket.active, typeof socket.id);
console.log(await early);

console.log(await new Promise((resolve) => socket.emit("echo", 1, "two", null, { three: [3.5] }, (...args) => resolve(args))));
console.log(await new Promise((resolve) => socket.emit("nothing", (...args) => resolve(args))));
console.log(await new Promise((resolve) => socket.timeout(5000).emit("one", 7, (...args) => resolve(args))));
console.log(await socket.emitWithAck("echo", "first", "second"));
console.log(await socket.timeout(5000).emitWithAck("one", { a: 1 }));

console.log(await new Promise((resolve) => socket.timeout(50).emit("hold", "a", (...args) => resolve(args.map(String)))));
await socket.timeout(50).emitWithAck("hold", "b").catch((error) => console.log(error instanceof Error, error.message));

socket.emit("hold", "c", () => console.log("is never called"));
const held = socket.emitWithAck("hold", "d").catch((error) => console.log(error.message));
socket.timeout(5000).emit("hold", "e", (error) => console.log("told of", error.message));
socket.disconnect();
await held;
console.log(socket.connected, socket.active, socket.id);
