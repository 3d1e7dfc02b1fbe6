// The daemon as a program sees it: calls that find it again when it was away, and the subscriptions that follow it.

import path from "node:path";
import { onAbort } from "./cancel.js";
import { Connection, mayComeBack, socketPath } from "./connection.js";
import { callAll } from "./emitter.js";
import { CallTimeout, Closed, DaemonLost, DaemonUnavailable, Kicked } from "./errors.js";
import { decode, encode } from "./payload.js";
import { Subscription } from "./subscription.js";

/** How much later than the daemon's own deadline an answer may come, so that the daemon's precise error wins. */
const GRACE = 500;
/** The pauses between attempts to reach the daemon: doubled from the first to the second, in milliseconds. */
const SHORTEST_PAUSE = 20;
const LONGEST_PAUSE = 1_000;
/** The longest that an announced return (`reconnect_in` of `goodbye`) is waited for. */
const LONGEST_ANNOUNCEMENT = 60_000;
/** How often a daemon that drains is asked again: it may go on without ending. */
const DRAIN_PAUSE = 250;
/** Calls that change nothing: they are made again when the daemon went away before it answered. */
const REPEATABLE = new Set([
  "hello", "ping", "history", "status", "stats", "wait", "clients.list", "upstreams.list", "outbox.list", "rpc.discover",
]);
/** The longest time that a timer of JavaScript takes, and that the protocol takes. */
const LONGEST_TIMER = 2 ** 31 - 1;
const LONGEST_WAIT = 315_360_000_000;

export class Gateway {
  #path;
  #name;
  #reach;
  #timeout;
  /** The connection that calls are written to; null while there is none. */
  #connection = null;
  #isConnecting = false;
  #wasConnected = false;
  /** Why the daemon cannot be used now: the error of a call whose time is over meanwhile. */
  #lastFailure = null;
  /** Why it never can be again. */
  #end = null;
  /** The daemon takes no new work; calls wait for the next one. */
  #isDraining = false;
  /** Calls that are not written, in the order in which they were made. */
  #waiting = [];
  #posted = new Set();
  #subscriptions = new Map();
  #lastOrder = 0;
  #lastSubscription = 0;

  constructor({ socket, client, connectTimeout = 5_000, timeout = 5_000 } = {}) {
    this.#path = socketPath(socket);
    this.#name = cut(client ?? path.basename(process.argv[1] ?? "node"));
    this.#reach = connectTimeout;
    this.#timeout = timeout;
  }

  /** The path of the daemon's socket. */
  get socket() {
    return this.#path;
  }

  /** Whether the daemon is connected now. Calls connect by themselves. */
  get connected() {
    return this.#connection !== null && !this.#connection.isClosed;
  }

  /** What the daemon told of itself: version, limits, features, rights; null before the first call. */
  get hello() {
    return this.#connection?.hello ?? null;
  }

  // What programs are here for.

  subscribe(target, events, options = {}) {
    [events, options] = named(events, options);
    const id = `n${++this.#lastSubscription}`;
    const subscription = new Subscription(id, targetParams(target), events, options, {
      submit: (method, params, settle) => this.#submit({ method, params, settle, reach: Infinity, timeout: Infinity }),
      respond: (params, more) => this.call("respond", params, more),
      notify: (method, params) => this.#connection?.notify(method, params),
      forget: () => {
        this.#subscriptions.delete(id);
        this.#adjust();
      },
    });
    if (this.#end) subscription.fail(this.#end);
    if (subscription.isClosed) return subscription;
    this.#subscriptions.set(id, subscription);
    if (this.connected) subscription.up();
    else this.#giveUpLater(subscription, options.connectTimeout ?? this.#reach);
    this.#adjust();
    return subscription;
  }

  async send(target, event, args = [], options = {}) {
    const { delivery = "accepted", timeout, signal, connectTimeout } = options;
    const waits = delivery === "sent" || delivery === "acked";
    const params = { ...targetParams(target), event, args: encode(args), delivery, ...sendParams(options) };
    if (waits && timeout !== undefined) params.timeout = timeout;
    const result = await this.call("send", params, {
      signal,
      timeout: waits ? (timeout ?? Infinity) + GRACE : timeout,
      connectTimeout,
      // With both the daemon knows it again, also after its own death.
      repeatable: delivery === "durable" && options.key !== undefined,
    });
    return decodeResult(result, options.bigints);
  }

  async request(target, event, args = [], options = {}) {
    const { timeout = 10_000, signal, connectTimeout, onProgress } = options;
    const params = {
      ...targetParams(target), event, args: encode(args), timeout: Math.min(timeout, LONGEST_WAIT), ...sendParams(options),
    };
    return decodeResult(await this.call("request", params, {
      signal, timeout: timeout + GRACE, connectTimeout, onProgress, place: options.place,
    }), options.bigints);
  }

  async wait(target, state = "connected", { timeout = Infinity, signal, connectTimeout } = {}) {
    const params = { ...targetParams(target), state, timeout: Math.min(timeout, LONGEST_WAIT) };
    return this.call("wait", params, { signal, timeout: timeout + GRACE, connectTimeout });
  }

  async history(target, events, options = {}) {
    [events, options] = named(events, options);
    const { since, limit, signal, timeout } = options;
    const result = await this.call("history", { ...targetParams(target), events, since, limit }, { signal, timeout });
    for (const event of result.events) decodeResult(event, options.bigints);
    return result;
  }

  async state(target, { signal, timeout } = {}) {
    const { connections } = await this.call("status", targetParams(target), { signal, timeout });
    // A link that this host has for its fleet is not what its programs use.
    return connections.find(({ fleet }) => fleet?.role !== "holder") ?? { state: "released", reason: null, detail: null };
  }

  /** Any method of the protocol, with its params as they are. */
  call(method, params = {}, options = {}) {
    const { signal, timeout = this.#timeout, connectTimeout = this.#reach, onProgress } = options;
    // Where `io` puts an answer among the events.
    const { place = (settle) => settle() } = options;
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      let forget = () => {};
      const call = this.#submit({
        method, params, timeout, reach: connectTimeout,
        repeatable: options.repeatable ?? REPEATABLE.has(method),
        onProgress: onProgress && ((part) => callAll(null, [onProgress], [decodeResult(part)])),
        settle: (error, result) => {
          forget();
          place(() => (error ? reject(error) : resolve(result)));
        },
      });
      if (!call.isSettled) forget = onAbort(signal, () => this.#withdraw(call, signal.reason));
    });
  }

  /** Ends everything: subscriptions, and calls that are not answered. What was written is still carried out. */
  close() {
    this.#finish(new Closed("this gateway client was closed"));
    this.#connection?.end();
  }

  // A call, from its making to its answer.

  #submit(call) {
    call.order = ++this.#lastOrder;
    call.settleOnce = (error, result) => {
      clearTimeout(call.timer);
      call.isSettled = true;
      call.settle(error, result);
    };
    if (this.#end) queueMicrotask(() => call.isSettled || call.settleOnce(this.#end));
    else this.#await(call);
    this.#flush();
    this.#adjust();
    return call;
  }

  /** Puts a call where it waits for a daemon, in the order of its making. */
  #await(call, patience = call.reach) {
    clearTimeout(call.timer);
    let place = this.#waiting.length;
    while (place > 0 && this.#waiting[place - 1].order > call.order) place--;
    this.#waiting.splice(place, 0, call);
    call.timer = later(patience, () => {
      this.#waiting.splice(this.#waiting.indexOf(call), 1);
      call.settleOnce(this.#lastFailure ?? new DaemonUnavailable(`the daemon at ${this.#path} took no call in time`));
      this.#adjust();
    });
  }

  /** Writes the calls that the daemon takes now. Beyond its limit they wait here rather than be refused there. */
  #flush() {
    const connection = this.#connection;
    while (this.#waiting.length > 0 && connection && !connection.isClosed && !connection.goodbye && !this.#isDraining
      && connection.unanswered < connection.hello.limits.inflight) {
      this.#post(this.#waiting.shift(), connection);
    }
  }

  #post(call, connection) {
    clearTimeout(call.timer);
    if (call.connection !== connection) call.drainEnd = undefined;
    call.connection = connection;
    this.#posted.add(call);
    try {
      call.id = connection.post(call.method, call.params, (error, result) => {
        this.#posted.delete(call);
        if (call.isSettled) return;
        if (error?.type === "Draining") this.#waitForNext(call, error);
        else if (error instanceof DaemonLost && !(error instanceof Kicked) && call.repeatable) this.#await(call);
        else call.settleOnce(error, result);
      }, call.onProgress);
    } catch (error) {
      this.#posted.delete(call);
      return call.settleOnce(error);
    }
    call.timer = later(call.timeout, () => this.#withdraw(
      call, new CallTimeout(`the daemon did not answer '${call.method}' in time, and may still carry it out`)));
  }

  /** The daemon is about to stop and has not taken the call: the next one gets it. For one that only ever stops
   * a call waits no longer than once. */
  #waitForNext(call, error) {
    this.#lastFailure = error;
    call.drainEnd ??= performance.now() + call.reach;
    this.#await(call, Math.max(0, call.drainEnd - performance.now()));
    if (this.#isDraining) return;
    this.#isDraining = true;
    setTimeout(() => {
      this.#isDraining = false;
      this.#flush();
    }, DRAIN_PAUSE).unref();
  }

  #withdraw(call, error) {
    if (call.isSettled) return;
    const place = this.#waiting.indexOf(call);
    if (place >= 0) this.#waiting.splice(place, 1);
    else if (this.#posted.delete(call)) this.#connection?.abandon(call.id);
    call.settleOnce(error);
    this.#adjust();
  }

  // The daemon's comings and goings.

  get #isWanted() {
    return this.#waiting.length > 0 || this.#posted.size > 0 || this.#subscriptions.size > 0;
  }

  /** Connects where something needs it, and lets the process end where nothing does. */
  #adjust() {
    if (this.#isWanted && !this.#connection && !this.#end) this.#connect();
    this.#connection?.hold(this.#isWanted);
  }

  async #connect(pause = 0) {
    if (this.#isConnecting) return;
    this.#isConnecting = true;
    await sleep(pause);
    let next = SHORTEST_PAUSE;
    while (this.#isWanted && !this.#end) {
      try {
        await this.#attempt();
        break;
      } catch (error) {
        this.#lastFailure = error;
        // A socket that was usable before may be closed for the moment in which its daemon makes it.
        if (!mayComeBack(error) && !this.#wasConnected) this.#fail(error);
        await sleep(jittered(next));
        next = Math.min(next * 2, LONGEST_PAUSE);
      }
    }
    this.#isConnecting = false;
    this.#adjust();
  }

  async #attempt() {
    const connection = await Connection.open(this.#path, this.#name, {
      timeout: Math.max(LONGEST_PAUSE, Math.min(this.#reach, LONGEST_TIMER)),
      onNotification: (method, params) => this.#subscriptions.get(params.subscription)?.take(method, params),
      onClose: (error) => this.#lose(error),
    });
    if (this.#end) return connection.end();
    connection.onAnswer = () => {
      if (this.#waiting.length > 0) this.#flush();
      this.#adjust();
    };
    this.#connection = connection;
    this.#wasConnected = true;
    this.#isDraining = false;
    for (const subscription of this.#subscriptions.values()) subscription.up();
    this.#flush();
    this.#adjust();
  }

  #lose(error) {
    const announced = Math.min(Math.max(0, this.#connection?.goodbye?.reconnect_in ?? 0), LONGEST_ANNOUNCEMENT);
    this.#connection = null;
    this.#lastFailure = error;
    if (error instanceof Kicked) this.#finish(error);
    for (const subscription of this.#subscriptions.values()) subscription.down(error);
    if (this.#isWanted && !this.#end) this.#connect(announced + jittered(SHORTEST_PAUSE));
  }

  /** Ends what is under way; a later call tries again. */
  #fail(error) {
    for (const call of this.#waiting.splice(0)) call.settleOnce(error);
    for (const subscription of [...this.#subscriptions.values()]) subscription.fail(error);
  }

  /** Ends what is under way, and whatever may come. */
  #finish(error) {
    this.#end ??= error;
    for (const call of [...this.#posted]) this.#withdraw(call, error);
    this.#fail(error);
  }

  #giveUpLater(subscription, patience) {
    const timer = later(patience, () => {
      if (!this.connected) subscription.fail(this.#lastFailure ?? new DaemonUnavailable(`no daemon answers at ${this.#path}`));
    });
    subscription.ready.catch(() => {}).finally(() => clearTimeout(timer));
  }
}

/** The names of events, and the options behind them: a text is one name, and the names may be left out. */
function named(events, options) {
  if (typeof events === "string") return [[events], options];
  return events === undefined || Array.isArray(events) ? [events, options] : [undefined, events];
}

/** Which upstream a call is about: a URL, the name of a configured one, or the protocol's own members. */
function targetParams(target) {
  if (typeof target !== "string") return { ...target };
  return target.includes("://") ? { url: target } : { upstream: target };
}

function sendParams({ kwargs, ttl, noQueue, volatile, compress, key, retries, ackTimeout, coalesce }) {
  return {
    kwargs: kwargs && encode(kwargs), ttl, no_queue: noQueue, volatile, compress, key, retries, ack_timeout: ackTimeout, coalesce,
  };
}

function decodeResult(result, bigints) {
  if (result.args) result.args = decode(result.args, bigints);
  if (result.kwargs) result.kwargs = decode(result.kwargs, bigints);
  return result;
}

/** A timer that never fires where the time is Infinity. */
function later(milliseconds, action) {
  return milliseconds > LONGEST_TIMER ? undefined : setTimeout(action, milliseconds);
}

function sleep(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function jittered(milliseconds) {
  return milliseconds / 2 + Math.random() * (milliseconds / 2);
}

/** The protocol takes names of 1 to 128 bytes. */
function cut(name) {
  return Buffer.from(name || "node").subarray(0, 128).toString().replace(/\uFFFD+$/, "");
}
