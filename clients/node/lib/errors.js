// What can go wrong: one class for each error of the protocol, and a few for what happens between here and the daemon.

/** The base of all errors of this package. */
export class GatewayError extends Error {
  /** What to do about it, where that is not part of the message. */
  advice = null;
  code = null;
  retry = null;
  reason = null;
  data = {};

  get name() {
    return this.type;
  }

  /** The name of the error; for those of the daemon its `data.type`. */
  get type() {
    return this.constructor.name;
  }
}

// Between this program and the daemon.

/** Nothing answers at the socket, or not in time. Nothing was sent. */
export class DaemonUnavailable extends GatewayError {
  advice =
    "start your own with 'systemctl --user start gatewayd.socket', or have the machine's started with " +
    "'systemctl start gatewayd.socket', or name its socket in $GATEWAYD_SOCKET";
  retry = true;
}

/** The socket may not be opened by this user. */
export class SocketForbidden extends DaemonUnavailable {
  advice = "ask the administrator for membership of the group that owns the socket";
  retry = false;
}

/** The daemon closed the connection before it answered. It may have carried the call out. */
export class DaemonLost extends GatewayError {
  advice = "make the call again; a durable send with a 'key' is repeated by itself, and arrives once";
}

/** An administrator has ended this connection for good: the client does not come back by itself. */
export class Kicked extends DaemonLost {
  advice = "ask the administrator before connecting again";
  retry = false;
}

/** The daemon was reached and did not answer in time; it may still carry the call out. */
export class CallTimeout extends GatewayError {
  advice = "give it more time";
}

/** What answers at the socket is not gatewayd, or speaks another version of the protocol. */
export class ProtocolMismatch extends GatewayError {
  advice = "install the same version of both, and check $GATEWAYD_SOCKET";
  retry = false;
}

/** The client, or this subscription, was closed. */
export class Closed extends GatewayError {
  retry = false;
}

// What the daemon answered.

/** An error that the daemon answered with; the class itself stands for types that this version does not know. */
export class CallError extends GatewayError {
  constructor(message, data = {}, code = null) {
    super(message);
    this.code = code;
    this.data = data;
    this.retry = data.retry ?? null;
    this.reason = data.reason ?? null;
    this.advice = ADVICE[this.type] ?? null;
  }

  get type() {
    return this.data?.type ?? this.constructor.name;
  }
}

/** The daemon could not read what was sent as JSON. */
export class ParseError extends CallError {}
/** What was sent is no call. */
export class InvalidRequest extends CallError {}
/** The daemon has no such method. */
export class MethodNotFound extends CallError {}
/** A parameter is missing, unknown, of the wrong kind or out of its bounds; the message names it. */
export class InvalidParams extends CallError {}
/** The daemon failed; for a durable send `reason` says what is wrong with the disk. */
export class InternalError extends CallError {}
/** The call was cancelled, and not written if it was not yet. */
export class Cancelled extends CallError {}
/** A right is missing; `data.need` names it. */
export class PermissionDenied extends CallError {}
/** The configuration has no upstream of that name. */
export class UpstreamUnknown extends CallError {}
/** The upstream is not connected, and nothing was sent. `reason` says why it is down. */
export class UpstreamDown extends CallError {}
/** Too many sends wait already. */
export class QueueFull extends CallError {}
/** The time was over before it happened; a send was never written. */
export class Expired extends CallError {}
/** It was written, and the server did not acknowledge it in time. */
export class AckTimeout extends CallError {}
/** It was written, and then the link broke. */
export class AckLost extends CallError {}
/** A limit of the daemon, or of this user's share, is reached; `data.quota` names it. */
export class QuotaExceeded extends CallError {}
/** Not everything behind `since` is there any more, and `strict` asked for everything. */
export class Unrecoverable extends CallError {}
/** The daemon is about to stop. */
export class Draining extends CallError {}
/** Another thing has that name: a `key` with other content, a URL of several upstreams. */
export class Conflict extends CallError {}
/** The message is above a limit (`data.limit`, `data.size`), and did not arrive. */
export class PayloadTooLarge extends CallError {}
/** The server refuses the connection; `data.message` and `data.data` are its own words. */
export class UpstreamRefused extends CallError {}
/** The state of the connection does not allow it. */
export class IllegalState extends CallError {}
/** Another program answered first, or the server does not wait any more. */
export class AckGone extends CallError {}
/** The server's application answered with an error: `data.error` is its name, `data.args` what it said. */
export class RequestFailed extends CallError {}

const BY_TYPE = {
  ParseError, InvalidRequest, MethodNotFound, InvalidParams, InternalError, Cancelled, PermissionDenied,
  UpstreamUnknown, UpstreamDown, QueueFull, Expired, AckTimeout, AckLost, QuotaExceeded, Unrecoverable, Draining,
  Conflict, PayloadTooLarge, UpstreamRefused, IllegalState, AckGone, RequestFailed,
};

const ADVICE = {
  MethodNotFound: "'gatewayctl introspect' lists the methods",
  InternalError: "the daemon's log tells more: journalctl -u gatewayd",
  PermissionDenied: "ask the administrator",
  UpstreamUnknown: "write a URL with ://, or the name of an upstream in the daemon's configuration",
  UpstreamDown: "'gatewayctl doctor' finds out why, and wait() waits for it",
  QueueFull: "try again later",
  Expired: "give it more time",
  AckTimeout: "give it more time, or ask the server what it has done",
  AckLost: "ask the server what it has done before sending again",
  QuotaExceeded: "try again later",
  Unrecoverable: "subscribe without 'since'",
  Draining: "try again later",
  PayloadTooLarge: "send it in smaller parts",
  UpstreamRefused: "check the credentials; 'gatewayctl doctor' finds out more",
  IllegalState: "'gatewayctl status' shows the state",
};

/** The error for the `error` member of an answer. */
export function fromAnswer({ code, message, data }) {
  const kind = BY_TYPE[data?.type] ?? CallError;
  return new kind(message, data ?? {}, code);
}

/** The error that the daemon would answer to a line that is longer than it takes. */
export function tooLarge(size, limit) {
  return new PayloadTooLarge(
    `the message is ${size} bytes long, and the daemon takes lines of at most ${limit}`,
    { type: "PayloadTooLarge", retry: false, size, limit }, -32012);
}

/** The same for arguments that are nested too deeply. */
export function tooDeep(limit) {
  return new InvalidParams(
    `the arguments are nested deeper than the ${limit} levels that a line may have`,
    { type: "InvalidParams", retry: false }, -32602);
}
