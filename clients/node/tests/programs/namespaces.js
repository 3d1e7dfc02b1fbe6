// Namespaces by URL and by manager; credentials that are taken, and refused.
import { io, Manager } from "socket.io-client";

const url = process.argv[2];
const outcome = (socket) => new Promise((resolve) => {
  socket.once("connect", () => resolve(["connected", socket.active]));
  socket.once("connect_error", (error) => resolve([error instanceof Error, error.message, socket.connected, socket.active]));
});

const chat = io(url + "/chat", { transports: ["websocket"] });
console.log(await outcome(chat), await chat.emitWithAck("one", "chat"));
chat.disconnect();

const refused = io(url + "/refused", { transports: ["websocket"] });
console.log(await outcome(refused));

const closed = io(url + "/auth", { transports: ["websocket"], auth: { token: "wrong" } });
console.log(await outcome(closed));
closed.auth = { token: "let-me-in" };
closed.connect();
console.log(await outcome(closed));
closed.disconnect();

const asked = io(url + "/auth", { transports: ["websocket"], auth: (tell) => setTimeout(() => tell({ token: "let-me-in" }), 10) });
console.log(await outcome(asked));
asked.disconnect();

const byQuery = io(url + "/auth", { transports: ["websocket"], query: { token: "let-me-in" }, forceNew: true });
console.log(await outcome(byQuery));
byQuery.disconnect();

const manager = new Manager(url, { transports: ["websocket"], forceNew: true });
const admin = manager.socket("/admin");
console.log(await outcome(admin), await admin.emitWithAck("one", "admin"), admin.io === manager);
const root = manager.socket("/");
console.log(await outcome(root), await root.emitWithAck("one", "root"));
admin.disconnect();
root.disconnect();
