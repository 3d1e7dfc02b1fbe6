// `import { io } from "gatewayd/socketio"` in place of `import { io } from "socket.io-client"`.
export { io, io as connect, io as default, Manager, Socket } from "./lib/socketio.js";

/** The revision of the Socket.IO protocol that the reference client's surface is that of. */
export const protocol = 5;
