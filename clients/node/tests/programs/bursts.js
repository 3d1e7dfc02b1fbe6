// An acknowledgement comes behind the events that the server sent before it, and an event behind those before it.
import { io } from "socket.io-client";

const socket = io(process.argv[2], { transports: ["websocket"] });
let next = 0;
socket.on("tick", (number) => {
  if (number !== next++) console.log("out of order", number);
});
socket.on("connect", () => {
  socket.emit("burst", 500, (count) => {
    console.log(count, next);
    socket.disconnect();
  });
});
