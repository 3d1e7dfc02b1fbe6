// The surface of the Socket.IO client over the gateway: a script changes one import. What cannot be the same, because
// the programs of a machine share one connection, stands in docs/migration.md.

import { setImmediate as immediate, setTimeout as sleep } from "node:timers/promises";
import { callAll, Emitter } from "./emitter.js";
import { Gateway } from "./gateway.js";

const RESERVED = new Set(["connect", "connect_error", "disconnect", "disconnecting", "newListener", "removeListener"]);
/** What the daemon's configuration says of an upstream, and no program. */
const CONFIGURED = [
  "transportOptions", "agent", "pfx", "key", "cert", "ciphers", "passphrase", "parser", "protocols", "cookieJar",
];
/** What a program may say of a URL, and of no upstream that the configuration names. */
const OF_URLS = ["auth", "query", "path", "extraHeaders", "ca", "rejectUnauthorized"];
/** The words of the Socket.IO client for why a connection ended. */
const DISCONNECT_REASONS = {
  kicked: "io server disconnect", heartbeat: "ping timeout", protocol: "parse error", too_large: "parse error",
  closed: "transport close", daemon: "transport close", requested: "transport close", draining: "transport close",
};
const LONGEST_PAUSE = 5_000;
const DEFAULT_PATH = "/socket.io/";

/** One client of the daemon for all sockets of the program that use the same daemon. */
const gateways = new Map();

export function io(uri, options = {}) {
  if (uri !== null && typeof uri === "object") [uri, options] = [undefined, uri];
  return new Socket(targetOf(uri, options), options);
}

io.io = io.connect = io;

/** A namespace of a server. */
export class Socket extends Emitter {
  /** The id that the server gave to the shared connection: every program of this user on it has the same. */
  id = undefined;
  connected = false;
  /** Whether the server had kept the session when the connection came back. */
  recovered = false;
  /** An object, or a function that is called with a callback for it, at each `connect()`. */
  auth;
  io;
  #options;
  #address;
  #gateway;
  /** Between `connect()` and `disconnect()`: the target with its credentials, the subscription, whether it may answer
   * the server, and what takes back calls that wait for an answer, and sends that wait for a daemon. */
  #session = null;
  /** Calls of `emit` that wait for `connect()`. */
  #buffer = [];
  #flags = {};
  #any = [];
  #anyOutgoing = [];
  #wasConnected = false;
  /** Acknowledgements that came before `connect` was told: they are told behind it. */
  #early = [];

  constructor(address, options, manager) {
    super();
    this.auth = options.auth;
    this.#options = options;
    this.#address = address;
    this.#gateway = options.gateway ?? sharedGateway(options.socket);
    this.io = manager ?? new Manager(address, options);
    if (options.autoConnect !== false) this.connect();
  }

  get disconnected() {
    return !this.connected;
  }

  /** Whether it is connected, or will be by itself. */
  get active() {
    return this.#session !== null;
  }

  get volatile() {
    this.#flags.volatile = true;
    return this;
  }

  connect() {
    if (this.#session) return this;
    const session = {
      target: null, subscription: null, answer: true,
      canceller: new AbortController(), withdrawer: new AbortController(),
    };
    this.#session = session;
    const begin = (auth) => {
      if (this.#session !== session || session.target) return;
      session.target = auth === undefined || auth === null ? this.#address : { ...this.#address, auth };
      for (const emit of this.#buffer.splice(0)) emit();
      this.#follow(session);
    };
    // Listeners that are added in this turn hear everything.
    queueMicrotask(() => (typeof this.auth === "function" ? this.auth(begin) : begin(this.auth)));
    return this;
  }

  disconnect() {
    const wasConnected = this.connected;
    this.#end();
    if (wasConnected) this.#lose("io client disconnect");
    return this;
  }

  compress(compress) {
    this.#flags.compress = compress;
    return this;
  }

  timeout(milliseconds) {
    this.#flags.timeout = milliseconds;
    return this;
  }

  send(...args) {
    return this.emit("message", ...args);
  }

  emit(event, ...args) {
    if (RESERVED.has(event)) throw new Error(`"${event}" is a reserved event name`);
    const flags = { ...this.#flags };
    this.#flags = {};
    const acknowledge = typeof args.at(-1) === "function" ? args.pop() : null;
    // An event that may be dropped is: nothing waits for a connection.
    if (flags.volatile && !this.connected) return this;
    if (this.#session?.target) this.#transmit(event, args, flags, acknowledge);
    else this.#buffer.push(() => this.#transmit(event, args, flags, acknowledge));
    return this;
  }

  emitWithAck(event, ...args) {
    return new Promise((resolve, reject) => {
      const acknowledge = (error, answer) => (error ? reject(error) : resolve(answer));
      acknowledge.withError = true;
      this.emit(event, ...args, acknowledge);
    });
  }

  onAny(listener) {
    this.#any = [...this.#any, listener];
    return this;
  }

  prependAny(listener) {
    this.#any = [listener, ...this.#any];
    return this;
  }

  offAny(listener) {
    this.#any = without(this.#any, listener);
    return this;
  }

  listenersAny() {
    return this.#any;
  }

  onAnyOutgoing(listener) {
    this.#anyOutgoing = [...this.#anyOutgoing, listener];
    return this;
  }

  prependAnyOutgoing(listener) {
    this.#anyOutgoing = [listener, ...this.#anyOutgoing];
    return this;
  }

  offAnyOutgoing(listener) {
    this.#anyOutgoing = without(this.#anyOutgoing, listener);
    return this;
  }

  listenersAnyOutgoing() {
    return this.#anyOutgoing;
  }

  // To the server.

  #transmit(event, args, flags, acknowledge) {
    callAll(this, this.#anyOutgoing, [event, ...args]);
    const { target, canceller, withdrawer } = this.#session;
    const { retries, ackTimeout } = this.#options;
    const options = {
      compress: flags.compress, volatile: flags.volatile, connectTimeout: flags.volatile ? 0 : Infinity, bigints: false,
      retries: flags.volatile ? undefined : retries, ackTimeout: retries ? ackTimeout : undefined,
    };
    if (!acknowledge) {
      const { ackTimeout: each, ...once } = options;
      this.#gateway.send(target, event, args, { ...(retries ? options : once), signal: withdrawer.signal })
        .catch((error) => error.name === "AbortError" || this.#report(error));
      return;
    }
    const session = this.#session;
    const place = (settle) => (session.subscription ? session.subscription.place(settle) : settle());
    const timeout = flags.timeout ?? (retries ? undefined : ackTimeout);
    const withError = acknowledge.withError || flags.timeout !== undefined || ackTimeout !== undefined;
    this.#gateway.request(target, event, args, { ...options, timeout: timeout ?? Infinity, signal: canceller.signal, place })
      .then(({ args: answer }) => {
        if (!answer) throw new Error("operation has timed out"); // a volatile one that was dropped
        this.#answer(() => callAll(this, [acknowledge], withError ? [null, ...answer] : answer));
      })
      .catch((error) => {
        if (withError) callAll(this, [acknowledge], [acknowledgementError(error)]);
        else if (!UNANSWERED.has(error.type ?? error.name)) this.#report(error);
      });
  }

  /** Tells an acknowledgement, behind `connect`. */
  #answer(tell) {
    if (this.connected || !this.#session) tell();
    else this.#early.push(tell);
  }

  /** An event that cannot be sent: the Socket.IO client has no word for it, and silence would be worse. */
  #report(error) {
    if (this.io.hasListeners("error")) this.io.emitReserved("error", error);
    else process.emitWarning(error);
  }

  // From the server.

  /** Hands out what comes until `disconnect()`. */
  async #follow(session) {
    for (let pause = 500; this.#session === session; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      try {
        session.subscription = this.#gateway.subscribe(session.target, {
          // Without a window: an acknowledgement would overtake the events that wait for one.
          states: true, gaps: true, answer: session.answer, bigints: false, window: Infinity,
        });
        for await (const item of session.subscription) {
          const pending = this.#take(item, session);
          if (pending) await pending;
          if (this.#session !== session) return;
        }
        return;
      } catch (error) {
        if (this.#session !== session) return;
        // Who may only listen cannot answer the server.
        if (error.type === "PermissionDenied" && error.data.need === "send" && session.answer) session.answer = false;
        else if (error.retry === false || this.#options.reconnection === false) {
          this.#end();
          this.#tellConnectError(error);
        } else {
          this.#tellConnectError(error);
          await sleep(pause);
        }
      }
    }
  }

  /** Hands out one thing; a promise where the next has to wait. */
  #take(item, session) {
    if (item.type === "event") this.#tellEvent(item);
    else if (item.type === "answer") {
      item.run();
      return immediate(); // until it is told, the next thing waits
    }
    else if (item.type === "gap") this.io.emitReserved("gap", item);
    else if (item.state === "connected") return this.#gain(item, session);
    else if (item.state === "reconnecting") this.io.emitReserved("reconnect_attempt", item.attempt ?? 1);
    else if (this.connected) this.#lose(DISCONNECT_REASONS[item.reason] ?? "transport error", item);
    else if (item.state === "disconnected" && item.reason && item.reason !== "idle") this.#failToConnect(item);
    return null;
  }

  #tellEvent({ event, args, respond }) {
    if (respond) {
      let isAnswered = false;
      args.push((...answer) => {
        if (isAnswered) return;
        isAnswered = true;
        // Another program was faster, or the link is gone: the server has its answer, or wants none any more.
        respond(answer).catch((error) => error.type === "AckGone" || this.#report(error));
      });
    }
    callAll(this, this.#any, [event, ...args]);
    if (!RESERVED.has(event)) callAll(this, this.listeners(event), args);
  }

  async #gain({ recovered = false }, session) {
    if (this.connected) return;
    const id = await this.#serverID(session);
    if (this.#session !== session) return;
    this.id = id;
    this.recovered = recovered;
    this.connected = true;
    this.io.emitReserved(this.#wasConnected ? "reconnect" : "open", 1);
    this.#wasConnected = true;
    this.emitReserved("connect");
    // Its listeners come first, with what they wait for; then what was held back for them, then events.
    await immediate();
    for (const tell of this.#early.splice(0)) tell();
  }

  async #serverID({ target, subscription }) {
    const { connection } = await subscription.ready;
    return this.#gateway.state(target).then(({ sid }) => sid ?? connection, () => connection);
  }

  #lose(reason, { reason: word, detail } = {}) {
    this.connected = false;
    this.id = undefined;
    const details = word && { description: detail, context: { reason: word } };
    // Whom the server has thrown out comes back when the program says so.
    if (this.#options.reconnection === false || word === "kicked") this.#end();
    this.io.emitReserved("close", reason, details);
    this.emitReserved("disconnect", reason, details);
  }

  #failToConnect({ reason, detail }) {
    const words = `the server refused the namespace ${namespaceOf(this.#address)}: `;
    const isRefused = reason === "refused" && detail?.startsWith(words);
    const error = new Error(isRefused ? detail.slice(words.length) : detail ?? reason);
    error.reason = reason;
    error.description = detail;
    // Whom the server has refused tries again when the program says so, perhaps with another `auth`.
    if (this.#options.reconnection === false || reason === "refused") this.#end();
    this.#tellConnectError(error);
  }

  #tellConnectError(error) {
    this.io.emitReserved(this.#wasConnected ? "reconnect_error" : "error", error);
    this.emitReserved("connect_error", error);
  }

  #end() {
    const session = this.#session;
    this.#session = null;
    session?.subscription?.close();
    session?.canceller.abort();
    // What the daemon has it sends; what waits for a daemon would keep the process.
    if (!this.#gateway.connected) session?.withdrawer.abort();
  }
}

Socket.prototype.open = Socket.prototype.connect;
Socket.prototype.close = Socket.prototype.disconnect;

/** What `socket.io` tells of the connection: `open`, `close`, `error`, `reconnect`, `reconnect_attempt`,
 * `reconnect_error`, and the gateway's own `gap`. */
export class Manager extends Emitter {
  #address;

  constructor(uri, options = {}) {
    super();
    this.#address = typeof uri === "string" ? targetOf(uri, options) : uri;
    this.opts = options;
    this.uri = this.#address.url;
  }

  /** Another namespace of the same server. */
  socket(namespace, options = {}) {
    const { url, upstream } = this.#address;
    const merged = { ...this.opts, ...options };
    if (upstream) return new Socket({ upstream, namespace }, merged, this);
    const address = new URL(url);
    address.pathname = namespace;
    return new Socket({ ...this.#address, url: address.href }, merged, this);
  }

  reconnection() {
    return this.opts.reconnection !== false;
  }
}

/** Ends of a call that the Socket.IO client does not tell to an acknowledgement without a time-out. */
const UNANSWERED = new Set(["AckTimeout", "AckLost", "DaemonLost", "UpstreamDown", "AbortError", "Closed", "Expired"]);
const TIMED_OUT = new Set(["AckTimeout", "CallTimeout", "Expired", "UpstreamDown", "DaemonUnavailable"]);
const DISCONNECTED = new Set(["AckLost", "DaemonLost", "AbortError", "Closed"]);

function acknowledgementError(error) {
  const kind = error.type ?? error.name;
  if (TIMED_OUT.has(kind)) return new Error("operation has timed out", { cause: error });
  if (DISCONNECTED.has(kind)) return new Error("socket has been disconnected", { cause: error });
  return error;
}

/** Which server, as the protocol names it. */
function targetOf(uri, options) {
  for (const name of CONFIGURED) {
    if (options[name] !== undefined) throw configured(name);
  }
  if (options.upstream !== undefined) {
    for (const name of OF_URLS) {
      if (options[name] !== undefined) throw configured(name);
    }
    return { upstream: options.upstream, namespace: uri ?? options.namespace };
  }
  if (typeof uri !== "string" || uri.startsWith("/") && !uri.startsWith("//")) {
    throw new TypeError('io() needs the URL of a server, or { upstream: "NAME" } of the daemon\'s configuration');
  }
  const url = new URL(uri.startsWith("//") ? `https:${uri}` : uri.includes("://") ? uri : `https://${uri}`);
  return { url: url.href, options: settingsOf(options) };
}

/** What the protocol calls `options`: what the Socket.IO client would do with its own connection. */
function settingsOf({ path = DEFAULT_PATH, addTrailingSlash = true, extraHeaders, query, ca, rejectUnauthorized }) {
  const place = path.replace(/\/$/, "") + (addTrailingSlash ? "/" : "");
  return withMembers({
    path: place === DEFAULT_PATH ? undefined : place,
    headers: withMembers(extraHeaders),
    query: withMembers(query),
    tls: withMembers({
      // Text, bytes, or a list of either.
      ca: ca === undefined ? undefined : [ca].flat().map((one) => Buffer.from(one).toString()).join("\n"),
      verify: rejectUnauthorized === false ? false : undefined,
    }),
  });
}

/** An object with what is said in it; undefined where nothing is. A header and a parameter are texts. */
function withMembers(object) {
  const said = Object.entries(object ?? {}).filter(([, value]) => value !== undefined);
  const value = (one) => (typeof one === "number" ? String(one) : one);
  return said.length > 0 ? Object.fromEntries(said.map(([name, one]) => [name, value(one)])) : undefined;
}

/** The namespace as the daemon writes it. */
function namespaceOf({ url, namespace = "/" }) {
  const path = url ? decodeURI(new URL(url).pathname) : "/";
  return path === "/" ? namespace : path;
}

function configured(name) {
  return new TypeError(
    `io() of gatewayd does not take '${name}': the daemon makes the connection. Say it in [upstream.NAME] of its `
    + 'configuration, and write io({ upstream: "NAME" })');
}

function sharedGateway(socket) {
  if (!gateways.has(socket)) gateways.set(socket, new Gateway({ socket }));
  return gateways.get(socket);
}

/** A list of listeners without one, or without all. */
function without(listeners, one) {
  return one === undefined ? [] : listeners.filter((listener) => listener !== one);
}
