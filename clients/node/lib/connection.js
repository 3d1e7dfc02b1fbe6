// One connection to the daemon's socket: lines of JSON in both directions, and which answer belongs to which call. It
// lives once; `Gateway` makes the next one.

import { existsSync, statSync } from "node:fs";
import net from "node:net";
import path from "node:path";
import {
  DaemonLost, DaemonUnavailable, fromAnswer, GatewayError, Kicked, ProtocolMismatch, SocketForbidden, tooLarge,
} from "./errors.js";
import { checkDepth, parse, stringify } from "./payload.js";

/** The version of the local protocol that is spoken. */
const PROTOCOL = 1;
/** A longer line can only come from something that is not the daemon, whose own limit is far below. */
const LINE_LIMIT = 256 << 20;
/** What `sun_path` holds beside its final NUL. */
const PATH_LIMIT = 107;

/** Where the daemon is, by the rules of gatewayctl: the option, $GATEWAYD_SOCKET, the user's own, the machine's. */
export function socketPath(option, environment = process.env, user = process.geteuid(), exists = existsSync) {
  if (option) return option;
  if (environment.GATEWAYD_SOCKET) return environment.GATEWAYD_SOCKET;
  // Where systemd has it, as in cron, which has no such variable.
  const runtime = environment.XDG_RUNTIME_DIR || (user === 0 ? null : `/run/user/${user}`);
  const own = runtime && path.join(runtime, "gatewayd.sock");
  return own && exists(own) ? own : "/run/gatewayd.sock";
}

export class Connection {
  /** What `hello` told; the limits of the daemon among it. */
  hello = null;
  /** Why the daemon said goodbye, and when to come back. */
  goodbye = null;
  /** Called after each answer, which makes room for another call. */
  onAnswer = null;
  #socket;
  #path;
  #calls = new Map();
  #chunks = [];
  #length = 0;
  #lastID = 0;
  #onNotification;
  #onClose;
  #failure = null;
  #isClosed = false;

  /** Resolves when the daemon has said hello; rejects with why there is none. `onClose(error)` is called once, only
   * after that. */
  static async open(socketPath, client, { onNotification, onClose, timeout }) {
    if (Buffer.byteLength(socketPath) > PATH_LIMIT) {
      throw new ProtocolMismatch(`the socket path is longer than ${PATH_LIMIT} bytes; use a symbolic link`);
    }
    const connection = new Connection();
    connection.#path = socketPath;
    connection.#onNotification = onNotification;
    await connection.#connect(timeout);
    connection.#onClose = onClose;
    try {
      connection.hello = await connection.#introduce(client, timeout);
      return connection;
    } catch (error) {
      connection.#onClose = null;
      connection.destroy();
      throw error;
    }
  }

  get isClosed() {
    return this.#isClosed;
  }

  /** How many calls are not answered yet. */
  get unanswered() {
    return this.#calls.size;
  }

  /** Sends a call. `settle(error, result)` is called once; returns the call's id. Throws for what is too
   * large or nested too deeply. */
  post(method, params, settle, onProgress) {
    const id = ++this.#lastID;
    this.#write({ jsonrpc: "2.0", id, method, params });
    this.#calls.set(id, { settle, onProgress });
    return id;
  }

  /** Sends a call that is not answered. */
  notify(method, params) {
    if (!this.#isClosed) this.#write({ jsonrpc: "2.0", method, params });
  }

  /** Forgets a call, whose answer is of no interest any more, and has the daemon end it. */
  abandon(id) {
    const call = this.#calls.get(id);
    if (!call) return;
    // Its place among the unanswered ones is free only when the daemon has answered.
    call.settle = call.onProgress = null;
    this.notify("rpc.cancel", { id });
  }

  /** Whether this connection keeps the process alive. */
  hold(isHeld) {
    if (isHeld) this.#socket.ref();
    else this.#socket.unref();
  }

  /** Closes it when everything is written; the daemon still carries that out. */
  end() {
    this.#socket.end();
    this.#close(null);
  }

  destroy() {
    this.#socket.destroy();
    this.#close(null);
  }

  async #connect(timeout) {
    await new Promise((resolve, reject) => {
      const socket = net.connect({ path: this.#path });
      this.#socket = socket;
      const refuse = (error) => {
        socket.destroy();
        reject(error);
      };
      const late = setTimeout(() => refuse(new DaemonUnavailable(`the daemon at ${this.#path} takes no connection`)), timeout);
      socket.once("connect", () => {
        clearTimeout(late);
        socket.removeAllListeners("error");
        resolve();
      });
      socket.once("error", (error) => {
        clearTimeout(late);
        refuse(this.#explain(error));
      });
    });
    this.#socket.on("data", (chunk) => this.#read(chunk));
    this.#socket.on("error", () => {});
    this.#socket.on("close", () => this.#close(null));
  }

  async #introduce(client, timeout) {
    let late;
    const hello = await new Promise((resolve, reject) => {
      late = setTimeout(() => reject(new DaemonUnavailable(`the daemon at ${this.#path} does not answer`)), timeout);
      this.post("hello", { client, protocol: PROTOCOL }, (error, result) => (error ? reject(error) : resolve(result)));
    }).catch((error) => {
      if (error instanceof DaemonLost) throw new DaemonUnavailable(`the daemon at ${this.#path} closed the connection`);
      if (error.type === "InvalidParams" || error.type === "InvalidRequest") {
        throw new ProtocolMismatch(`the daemon does not speak protocol ${PROTOCOL}: ${error.message}`);
      }
      // Turned away: too many clients, or about to stop.
      throw error;
    }).finally(() => clearTimeout(late));
    if (typeof hello?.instance !== "string" || !(hello.limits?.inflight > 0)) throw this.#noGateway();
    return hello;
  }

  #explain(error) {
    if (["EACCES", "ECONNREFUSED", "ENOTSOCK"].includes(error.code) && this.#isNoSocket()) {
      return new ProtocolMismatch(`${this.#path} is no socket`);
    }
    switch (error.code) {
      case "EACCES":
      case "EPERM":
        return new SocketForbidden(`permission denied for ${this.#path}`);
      case "EPROTOTYPE":
        return new ProtocolMismatch(`${this.#path} is no stream socket`);
      default:
        return new DaemonUnavailable(`no daemon answers at ${this.#path}: ${error.code ?? error.message}`);
    }
  }

  #isNoSocket() {
    try {
      return !statSync(this.#path).isSocket();
    } catch {
      return false;
    }
  }

  #noGateway() {
    return new ProtocolMismatch(`what answers at ${this.#path} does not speak gatewayd's protocol`);
  }

  #write(message) {
    checkDepth(message);
    const line = stringify(message) + "\n";
    const limit = this.hello?.limits?.line;
    // The daemon would end the connection, and with it everybody else's calls on it.
    if (limit && line.length * 3 > limit) {
      const size = Buffer.byteLength(line) - 1;
      if (size > limit) {
        const parts = this.hello.features?.includes("parts") ? partsOf(message, limit) : null;
        if (!parts) throw tooLarge(size, limit);
        // In one go, so that no other call of this client comes between them.
        for (const part of parts) this.#socket.write(stringify(part) + "\n");
        return;
      }
    }
    this.#socket.write(line);
  }

  #read(chunk) {
    let start = 0;
    for (let end; !this.#isClosed && (end = chunk.indexOf(10, start)) >= 0; start = end + 1) {
      this.#chunks.push(chunk.subarray(start, end));
      const line = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks);
      this.#chunks = [];
      this.#length = 0;
      this.#take(line);
    }
    if (this.#isClosed || start === chunk.length) return;
    this.#chunks.push(chunk.subarray(start));
    this.#length += chunk.length - start;
    if (this.#length > LINE_LIMIT) this.#fail(this.#noGateway());
  }

  #take(line) {
    let message;
    try {
      message = parse(line.toString());
    } catch {
      return this.#fail(this.#noGateway());
    }
    if (message?.jsonrpc !== "2.0") return this.#fail(this.#noGateway());
    if (message.method) {
      const { method, params = {} } = message;
      if (method === "progress") this.#calls.get(params.id)?.onProgress?.(params);
      if (method === "goodbye") this.goodbye = params;
      this.#onNotification?.(method, params);
    } else if (message.id === null || message.id === undefined) {
      // Said of a line, or of the client as a whole, which the daemon then hangs up on.
      this.#fail(fromAnswer(message.error ?? {}));
    } else {
      const call = this.#calls.get(message.id);
      this.#calls.delete(message.id);
      if (message.error) call?.settle?.(fromAnswer(message.error));
      else call?.settle?.(null, message.result);
      this.onAnswer?.();
    }
  }

  #fail(error) {
    this.#failure = error;
    this.#socket.destroy();
    this.#close(error);
  }

  #close(error) {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const reason = this.goodbye?.reason;
    const lost = error ?? this.#failure
      ?? (reason === "kicked"
        ? new Kicked("an administrator has ended this connection")
        : new DaemonLost(`the daemon closed the connection${reason ? ` (${reason})` : ""}`));
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    for (const call of calls) call.settle?.(lost);
    this.#onClose?.(lost);
  }
}

/** Most bytes of one part of a message, as the protocol has it. */
const PART_LIMIT = 128 << 10;
/** What a line has around the params and its part, at most. */
const PART_ALLOWANCE = 512;

/** The calls that one becomes which is longer than a line: the text of its `args` in parts, of which the last is answered.
 * Null where the method takes no parts, or its other params are too long. */
function partsOf({ id, method, params }, limit) {
  if ((method !== "send" && method !== "request") || !params.args || id === undefined) return null;
  const { args, ...others } = params;
  const text = Buffer.from(stringify(args));
  // A quote or a backslash of the text takes two bytes in a string.
  const room = Math.min(PART_LIMIT, Math.floor((limit - Buffer.byteLength(stringify(others)) - PART_ALLOWANCE) / 2));
  if (room < 4) return null;
  const calls = [];
  for (let at = 0, end; at < text.length; at = end) {
    end = Math.min(at + room, text.length);
    // A character is not cut.
    while (end < text.length && (text[end] & 0xc0) === 0x80) end -= 1;
    const part = { id, at, of: text.length, data: text.toString("utf8", at, end) };
    calls.push({ jsonrpc: "2.0", method, params: { ...others, part } });
  }
  calls.at(-1).id = id;
  return calls;
}

/** Whether an attempt that failed with this may succeed later. */
export function mayComeBack(error) {
  return !(error instanceof GatewayError) || error.retry !== false;
}
