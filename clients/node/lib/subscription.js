// A subscription that outlives its connections to the daemon: after a loss it goes on behind the last thing that came,
// so that no event is lost or doubled. It is an async iterator; the daemon is asked for events as they are taken.

import { onAbort } from "./cancel.js";
import { Closed } from "./errors.js";
import { decode, encode } from "./payload.js";

/** How many events may be on the way to the program, or wait in it, unless `window` says otherwise. */
const WINDOW = 100;
/** The pause before a subscription that was refused for now is tried again. */
const RETRY_PAUSE = 250;

export class Subscription {
  /** What the daemon answered when the subscription was made first. */
  ready;
  #id;
  #params;
  #options;
  #window;
  #port;
  #settleReady;
  #wasLive = false;
  #isLive = false;
  /** A `subscribe` waits for the daemon, or for its answer. */
  #isAsking = false;
  #isOver = false;
  #error = null;
  /** Where the next subscription would begin: behind the last thing that came from the daemon. */
  #received = null;
  /** Nothing of what `last` brings is here yet: it has to be asked for again. */
  #awaitsLast = false;
  #handedOut = null;
  /** What came and was not taken: `{ item, position }`, where a null item only moves the position. */
  #buffer = [];
  #waiters = [];
  /** Events in the buffer, and events that were taken and not yet given back as credit. */
  #buffered = 0;
  #taken = 0;
  #retry;
  #forgetSignal = () => {};

  /** Made by `Gateway.subscribe`. */
  constructor(id, target, events, options, port) {
    const { since = null, signal, window = WINDOW } = options;
    if (!(window >= 1)) throw new RangeError("window must be at least 1");
    this.#id = id;
    this.#params = { ...target, events, state: true, subscription: id, queue: options.queue, on_slow: options.onSlow };
    if (options.answer) this.#params.answer = true;
    if (options.enter?.length) this.#params.enter = options.enter.map(message);
    if (options.leave?.length) this.#params.leave = options.leave.map((one) => (one == null ? null : message(one)));
    this.#options = options;
    this.#window = window;
    this.#port = port;
    this.#received = this.#handedOut = since;
    this.ready = new Promise((resolve, reject) => (this.#settleReady = { resolve, reject }));
    this.ready.catch(() => {}); // Whoever iterates gets the error there.
    const abort = () => this.#finish(signal.reason, { discards: true });
    if (signal?.aborted) abort();
    else this.#forgetSignal = onAbort(signal, abort);
  }

  /** The place of the last item that was taken; `since` with it goes on behind that. Null before anything is known. */
  get position() {
    return this.#handedOut;
  }

  get isClosed() {
    return this.#isOver;
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  next() {
    while (this.#buffer.length > 0) {
      const { item, position } = this.#buffer.shift();
      this.#handedOut = position;
      if (item === null) continue;
      if (item.type === "event") this.#giveBack();
      return Promise.resolve({ value: item, done: false });
    }
    if (this.#error) {
      const error = this.#error;
      this.#error = null;
      return Promise.reject(error);
    }
    if (this.#isOver) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
  }

  /** Called by the end of a `for await` loop. */
  return() {
    this.close();
    return Promise.resolve({ value: undefined, done: true });
  }

  /** Ends it. What was not taken is dropped. */
  close() {
    this.#finish(null, { discards: true });
  }

  /** Has what iterates run something behind what came so far; for `io`, whose answers stand among events. */
  place(run) {
    if (this.#isLive && !this.#isOver) this.#put({ type: "answer", run });
    else run();
  }

  // What the gateway says.

  /** The daemon is there: subscribes, behind what was received. */
  up() {
    if (this.#isAsking) return;
    const params = { ...this.#params };
    if (this.#window !== Infinity) params.credit = this.#window - this.#buffered;
    this.#taken = 0;
    const { last, strict } = this.#options;
    const since = this.#awaitsLast ? null : this.#received;
    if (since) params.since = since;
    else if (last !== undefined) params.last = last;
    if (strict && !this.#wasLive) params.strict = true;
    this.#isAsking = true;
    this.#port.submit("subscribe", params, (error, result) => {
      this.#isAsking = false;
      if (this.#isOver) return;
      if (error) this.#refused(error);
      else this.#begin(result, since);
    });
  }

  /** The daemon is gone; the gateway looks for it. */
  down(error) {
    clearTimeout(this.#retry);
    if (this.#isLive) this.#putState({ state: "disconnected", reason: "daemon", detail: error.message });
    this.#isLive = false;
  }

  fail(error) {
    this.#finish(error, { discards: false });
  }

  take(method, params) {
    if (!this.#isLive) return;
    if (method === "event") this.#takeEvent(params);
    else if (method === "gap") this.#takeGap(params);
    else if (method === "state") this.#putState(params);
  }

  // Inside.

  #begin(result, since) {
    const { epoch, first_epoch: firstEpoch, seq, replayed, state, upstream } = result;
    // Behind `since` first come the events of its own epoch; a gap tells where another one begins.
    this.#awaitsLast = !since && replayed > 0;
    this.#received = since ?? (replayed > 0 ? { epoch: firstEpoch ?? epoch, seq: 0 } : { epoch, seq });
    this.#isLive = this.#wasLive = true;
    this.#settleReady.resolve(result);
    this.#putState({ ...upstream, state });
    this.#grant(); // for what was taken while the daemon was away
  }

  #refused(error) {
    // The gateway says when the daemon is back; what the daemon cannot do now is asked for again.
    if (error.type === "DaemonLost" || error.type === "DaemonUnavailable") return;
    if (error.retry === true && this.#wasLive) {
      this.#retry = setTimeout(() => this.up(), RETRY_PAUSE);
    } else {
      this.fail(error);
    }
  }

  #takeEvent({ event, args, kwargs, seq, time, ack }) {
    const { epoch } = this.#received;
    const { bigints } = this.#options;
    const item = { type: "event", event, args: decode(args, bigints), seq, epoch, time };
    if (kwargs) item.kwargs = decode(kwargs, bigints);
    if (ack !== undefined) {
      item.respond = (answer = [], { kwargs: named, error, ...more } = {}) =>
        this.#port.respond({ ack, args: encode(answer), kwargs: named && encode(named), error }, more);
    }
    this.#received = { epoch, seq };
    this.#awaitsLast = false;
    this.#buffered++;
    this.#put(item);
  }

  #takeGap({ epoch, reason, from, to, count, seq, detail }) {
    // Where an epoch begins its number is told. Nothing else moves a position into another epoch: a state that names
    // one comes before the gap that announces it, and who came back in between would never hear of that gap.
    this.#awaitsLast = false;
    this.#received = { epoch, seq: Math.max(seq ?? this.#received.seq, to ?? 0) };
    const gap = { type: "gap", reason, epoch, from, to, count, seq, detail };
    this.#put(this.#options.gaps ? gap : null);
  }

  #putState({ subscription, ...facts }) {
    if (this.#options.states) this.#put({ type: "state", ...facts });
    else this.#put(null);
  }

  #put(item) {
    const entry = { item, position: this.#received };
    if (item === null && this.#buffer.length === 0) this.#handedOut = entry.position;
    else if (this.#waiters.length > 0) this.#hand(entry);
    else if (item === null && this.#buffer.at(-1).item === null) this.#buffer[this.#buffer.length - 1] = entry;
    else this.#buffer.push(entry);
  }

  #hand({ item, position }) {
    this.#handedOut = position;
    if (item.type === "event") this.#giveBack();
    this.#waiters.shift().resolve({ value: item, done: false });
  }

  /** An event was taken. */
  #giveBack() {
    this.#buffered--;
    this.#taken++;
    this.#grant();
  }

  /** When half of the window was taken, the daemon may send as many more. */
  #grant() {
    if (this.#window === Infinity || !this.#isLive || this.#taken < this.#window / 2) return;
    this.#port.notify("credit", { subscription: this.#id, n: this.#taken });
    this.#taken = 0;
  }

  #finish(error, { discards }) {
    const answers = discards ? this.#buffer.filter(({ item }) => item?.type === "answer") : [];
    if (discards) this.#buffer = [];
    if (this.#isOver) return;
    this.#isOver = true;
    for (const { item } of answers) item.run();
    clearTimeout(this.#retry);
    this.#forgetSignal();
    this.#port.notify("unsubscribe", { subscription: this.#id });
    this.#port.forget();
    const [first, ...others] = this.#waiters.splice(0);
    if (error && first) first.reject(error);
    else if (error) this.#error = error;
    else first?.resolve({ value: undefined, done: true });
    for (const waiter of others) waiter.resolve({ value: undefined, done: true });
    this.#settleReady.reject(error ?? new Closed("the subscription was closed"));
  }
}

/** An element of `enter` or `leave` as the protocol has it. */
function message(said) {
  const { args = [], kwargs, ...members } = Array.isArray(said) ? { event: said[0], args: said.slice(1) } : said;
  return { ...members, args: encode(args), kwargs: kwargs && encode(kwargs) };
}
