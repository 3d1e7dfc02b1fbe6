// A server that throws the socket out, and what is emitted while there is no connection.
import { io } from "socket.io-client";

const socket = io(process.argv[2], { transports: ["websocket"] });
const until = (event) => new Promise((resolve) => socket.once(event, (...args) => resolve(args)));
socket.on("connect", () => console.log("connect", socket.connected, socket.active));
socket.on("disconnect", (reason) => console.log("disconnect", reason, socket.connected, socket.active, socket.id));

await until("connect");
socket.emit("kick");
await until("disconnect");
socket.emit("one", "emitted while away", (answer) => console.log("answer", answer));
socket.emit("say", "also");
socket.on("said", (text) => console.log("said", text));
socket.connect();
await until("said");
socket.close();
socket.open();
await until("connect");
console.log(await socket.emitWithAck("one", "again"));
socket.disconnect();
