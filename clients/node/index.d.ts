/**
 * A client of gatewayd: one shared connection per server for all programs of a machine.
 *
 * A `Gateway` finds the daemon by the rules of gatewayctl, connects when something needs it, and comes back by itself.
 * Times are milliseconds, sizes bytes. Bytes in arguments are Buffers. Integers that a Number cannot hold are BigInts,
 * unless `bigints: false` asks for the nearest Number.
 */

/** A URL, the name of a configured upstream, or both with what the protocol has besides. */
export type Target =
  | string
  | { url: string; namespace?: string; auth?: Record<string, unknown>; options?: TargetOptions }
  | { upstream: string; namespace?: string };

/** Settings for a URL that the daemon's configuration does not have. `ca` is the text of a PEM file. */
export interface TargetOptions {
  path?: string;
  headers?: Record<string, string>;
  query?: Record<string, string>;
  tls?: { ca?: string; verify?: boolean };
}

/** A place in a connection's events: `seq` never repeats within an epoch. */
export interface Position {
  epoch: string;
  seq: number;
}

export interface GatewayOptions {
  /** The daemon's socket; otherwise $GATEWAYD_SOCKET, $XDG_RUNTIME_DIR/gatewayd.sock (without the variable
   * /run/user/UID/gatewayd.sock) if it exists, /run/gatewayd.sock. */
  socket?: string;
  /** The name that `status` shows; the script's unless given. */
  client?: string;
  /** How long a call, or a new subscription, waits for a daemon that is not there: 5,000. A subscription that was made
   * once waits for ever. */
  connectTimeout?: number;
  /** How long the daemon may take to answer a call that waits for no server: 5,000. */
  timeout?: number;
}

export interface CallOptions {
  /** Ends the call, which rejects with the signal's reason. What was not written to the server yet never is. */
  signal?: AbortSignal;
  timeout?: number;
  connectTimeout?: number;
}

export interface SendOptions extends CallOptions {
  /** When to answer: the daemon has it (`accepted`, the default), has it on the disk (`durable`), has written it
   * (`sent`), or has the server's acknowledgement (`acked`). `timeout` limits the last two. */
  delivery?: "accepted" | "durable" | "sent" | "acked";
  kwargs?: Record<string, unknown>;
  /** How long it may wait for the connection. */
  ttl?: number;
  /** Fail with UpstreamDown rather than wait. */
  noQueue?: boolean;
  /** Drop it rather than wait; the state is `dropped` then. */
  volatile?: boolean;
  compress?: boolean;
  /** A name of yours: the same content under it is sent once in 24 hours. With `durable`, a send whose answer was lost
   * with the daemon is repeated by itself. */
  key?: string;
  /** Write it up to so many times more until the server acknowledges it. */
  retries?: number;
  ackTimeout?: number;
  /** Take the place of the earlier send with the same value that still waits. */
  coalesce?: string;
  bigints?: boolean;
}

export interface RequestOptions extends Omit<SendOptions, "delivery" | "timeout"> {
  /** How long to wait for the acknowledgement: 10,000. */
  timeout?: number;
  /** Gets each part of an answer that comes in parts. */
  onProgress?(part: Answer): void;
}

/** Whether the connection is up, and if not, why. */
export interface UpstreamState {
  state: "created" | "connected" | "disconnected" | "reconnecting" | "released";
  reason: string | null;
  detail: string | null;
  [more: string]: unknown;
}

export interface Sent {
  id: string;
  state: string;
  /** The key was there already. */
  duplicate?: boolean;
  /** The server's acknowledgement, with `delivery: "acked"`. */
  args?: any[];
  upstream: UpstreamState;
}

export interface Answer {
  args: any[];
  kwargs?: Record<string, any>;
}

/** An event. */
export interface Event extends Position {
  type: "event";
  event: string;
  args: any[];
  kwargs?: Record<string, any>;
  /** When it reached the daemon, in milliseconds since 1970. */
  time: number;
  /** Acknowledges it, where the server asked for that and the subscription is one with `answer`. Rejects with AckGone
   * where another program was first. */
  respond?(args?: any[], options?: { kwargs?: Record<string, unknown>; error?: string } & CallOptions): Promise<object>;
}

/** Events are missing here. */
export interface Gap {
  type: "gap";
  reason: "slow_consumer" | "upstream" | "too_large" | "undecodable" | "expired";
  /** The epoch from here on. */
  epoch: string;
  from?: number;
  to?: number;
  /** How many of the missing ones matched. */
  count?: number;
  seq?: number;
  detail?: string;
}

/** The connection changed its state; the first is the state that the subscription found. `disconnected` with the reason
 * `daemon`: the daemon itself is away. */
export interface State extends Partial<UpstreamState> {
  type: "state";
  attempt?: number;
  /** Milliseconds to the next attempt. */
  in?: number;
  /** The server had kept the session, and gave what was missed. */
  recovered?: boolean;
}

/** An event with its arguments: `["join", { room: "a" }]`, or as the protocol has it. */
export type Message =
  | [event: string, ...args: unknown[]]
  | { event: string; args?: unknown[]; kwargs?: Record<string, unknown>; ack?: boolean };

export interface SubscribeOptions {
  /** Ends it: what iterates gets the signal's reason. */
  signal?: AbortSignal;
  /** Begin behind this position. */
  since?: Position;
  /** Begin with the last n events. */
  last?: number;
  /** Fail with Unrecoverable rather than begin with a gap. */
  strict?: boolean;
  /** Yield gaps, too. */
  gaps?: boolean;
  /** Yield states, too. */
  states?: boolean;
  /** Events that the server wants an acknowledgement of have `respond`. */
  answer?: boolean;
  /** How many events the daemon may send ahead of what is taken: 100. Beyond that they wait in the daemon. */
  window?: number;
  /** How many may wait there. */
  queue?: number;
  /** What happens when more would wait. */
  onSlow?: "drop_oldest" | "pause" | "disconnect";
  /** Said to the server at every connect, as for a room or a feed, once for all programs. */
  enter?: Message[];
  /** What undoes the message at the same place of `enter`, said when no program holds that any more; null for one that nothing undoes. */
  leave?: (Message | null)[];
  connectTimeout?: number;
  bigints?: boolean;
}

type Item<O> =
  | Event
  | (O extends { gaps: true } ? Gap : never)
  | (O extends { states: true } ? State : never);

/**
 * Events, in order. It survives restarts of the daemon: it goes on behind the last thing that came. Leaving a
 * `for await` loop ends it.
 */
export class Subscription<T = Event> implements AsyncIterableIterator<T> {
  /** What the daemon answered when it was made first. */
  readonly ready: Promise<{ connection: string; state: string; recovered?: boolean; replayed?: number; [more: string]: unknown }>;
  /** Where the item that was taken last stands. Keep it, and `since` goes on there after a restart of your own. */
  readonly position: Position | null;
  readonly isClosed: boolean;
  next(): Promise<IteratorResult<T, undefined>>;
  return(): Promise<IteratorResult<T, undefined>>;
  close(): void;
  [Symbol.asyncIterator](): this;
}

export class Gateway {
  constructor(options?: GatewayOptions);
  /** The path of the daemon's socket. */
  readonly socket: string;
  /** Whether the daemon is connected now. */
  readonly connected: boolean;
  /** What the daemon told of itself. */
  readonly hello: { server: string; instance: string; limits: Record<string, number>; features: string[]; [more: string]: unknown } | null;

  /** Events of these names or globs; all without them. */
  subscribe<O extends SubscribeOptions>(target: Target, events?: string | string[], options?: O): Subscription<Item<O>>;
  subscribe<O extends SubscribeOptions>(target: Target, options: O): Subscription<Item<O>>;
  /** Sends an event; it waits in the daemon where the connection is down. */
  send(target: Target, event: string, args?: unknown[], options?: SendOptions): Promise<Sent>;
  /** Sends an event and waits for the server's acknowledgement. */
  request(target: Target, event: string, args?: unknown[], options?: RequestOptions): Promise<Answer>;
  /** Waits until the connection is in a state, without end unless `timeout` is given; Expired when that is over. */
  wait(target: Target, state?: UpstreamState["state"], options?: CallOptions): Promise<{ state: string }>;
  /** The newest events that are kept, or the first behind `since`; oldest first. */
  history(target: Target, events?: string | string[], options?: HistoryOptions): Promise<History>;
  history(target: Target, options: HistoryOptions): Promise<History>;
  /** The connection as `status` shows it; `released` where there is none. Needs the right `status`. */
  state(target: Target, options?: CallOptions): Promise<UpstreamState>;
  /** Any method of the protocol, with its params and its result as they are. `repeatable`: make it again where the daemon
   * went away before it answered. */
  call(method: string, params?: object, options?: CallOptions & { repeatable?: boolean; onProgress?(part: any): void }): Promise<any>;
  /** Ends subscriptions and unanswered calls with Closed. Not needed for the end of the process: an idle Gateway does not
   * keep it. */
  close(): void;
}

export interface HistoryOptions extends CallOptions {
  since?: Position;
  limit?: number;
  bigints?: boolean;
}

export interface History extends Position {
  events: Omit<Event, "type" | "epoch" | "respond">[];
  complete: boolean;
  more: boolean;
}

/** The base of all errors. Errors of the daemon have `code`, `retry`, `reason` and `data` of docs/protocol.md. */
export class GatewayError extends Error {
  readonly type: string;
  /** What to do about it, where that is not part of the message. */
  readonly advice: string | null;
  readonly code: number | null;
  /** Whether the same call may succeed later; null where only the caller can judge. */
  readonly retry: boolean | null;
  readonly reason: string | null;
  readonly data: Record<string, any>;
}

/** Nothing answers at the socket, or not in time. Nothing was sent. */
export class DaemonUnavailable extends GatewayError {}
/** The socket may not be opened by this user. */
export class SocketForbidden extends DaemonUnavailable {}
/** The daemon closed the connection before it answered. It may have carried the call out. */
export class DaemonLost extends GatewayError {}
/** An administrator has ended this connection for good. */
export class Kicked extends DaemonLost {}
/** The daemon was reached and did not answer in time; it may still carry the call out. */
export class CallTimeout extends GatewayError {}
/** What answers at the socket is not gatewayd, or speaks another version of the protocol. */
export class ProtocolMismatch extends GatewayError {}
/** The client, or this subscription, was closed. */
export class Closed extends GatewayError {}

/** An error that the daemon answered with; the class itself stands for types that this version does not know. */
export class CallError extends GatewayError {}
export class ParseError extends CallError {}
export class InvalidRequest extends CallError {}
export class MethodNotFound extends CallError {}
export class InvalidParams extends CallError {}
export class InternalError extends CallError {}
export class Cancelled extends CallError {}
export class PermissionDenied extends CallError {}
export class UpstreamUnknown extends CallError {}
/** Certainly not sent. */
export class UpstreamDown extends CallError {}
export class QueueFull extends CallError {}
export class Expired extends CallError {}
/** Written, and not acknowledged in time. */
export class AckTimeout extends CallError {}
/** Written, and then the link broke. */
export class AckLost extends CallError {}
export class QuotaExceeded extends CallError {}
export class Unrecoverable extends CallError {}
export class Draining extends CallError {}
export class Conflict extends CallError {}
export class PayloadTooLarge extends CallError {}
export class UpstreamRefused extends CallError {}
export class IllegalState extends CallError {}
export class AckGone extends CallError {}
export class RequestFailed extends CallError {}

export { io } from "./socketio.js";
