// Who hears what, in which order.
import { io } from "socket.io-client";

const socket = io(process.argv[2], { transports: ["websocket"], autoConnect: false });
console.log(socket.connected, socket.active);
const heard = (name) => (...args) => console.log(name, ...args);
const a = heard("a");
const any = heard("any");

socket.on("said", a).on("said", heard("b"));
socket.once("said", heard("once"));
const never = heard("never");
socket.once("said", never);
socket.off("said", never);
socket.onAny(any);
socket.prependAny(heard("first"));
socket.onAnyOutgoing(heard("outgoing"));
console.log(socket.listeners("said").length, socket.hasListeners("said"), socket.hasListeners("other"), socket.listenersAny().length);
console.log(socket.on === socket.addEventListener, socket.emit("kept", 1) === socket, socket.send("m") === socket);
for (const name of ["connect", "connect_error", "disconnect", "disconnecting", "newListener", "removeListener"]) {
  try {
    socket.emit(name);
  } catch (error) {
    console.log(error.message);
  }
}
socket.volatile.emit("volatile while there is no connection");
socket.on("connect", () => console.log("connect"));
socket.connect();
console.log(socket.connect() === socket, socket.active);
await new Promise((resolve) => socket.once("connect", resolve));
await socket.emitWithAck("say", 1);
socket.offAny(any);
socket.off("said", a);
await socket.emitWithAck("say", 2);
socket.offAny();
socket.offAnyOutgoing();
socket.removeAllListeners("said");
await socket.emitWithAck("say", 3);
socket.off();
console.log(socket.hasListeners("said"), socket.hasListeners("connect"));
socket.on("disconnect", (reason) => console.log(reason, socket.connected));
console.log(socket.disconnect() === socket, socket.active);
socket.disconnect();
