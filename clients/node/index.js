// A client of gatewayd. What each name does stands in index.d.ts; where to start reading, in README.md.
export { Gateway } from "./lib/gateway.js";
export { Subscription } from "./lib/subscription.js";
export {
  GatewayError, DaemonUnavailable, SocketForbidden, DaemonLost, Kicked, CallTimeout, ProtocolMismatch,
  Closed, CallError, ParseError, InvalidRequest, MethodNotFound, InvalidParams, InternalError, Cancelled,
  PermissionDenied, UpstreamUnknown, UpstreamDown, QueueFull, Expired, AckTimeout, AckLost, QuotaExceeded,
  Unrecoverable, Draining, Conflict, PayloadTooLarge, UpstreamRefused, IllegalState, AckGone, RequestFailed,
} from "./lib/errors.js";
export { io } from "./lib/socketio.js";
