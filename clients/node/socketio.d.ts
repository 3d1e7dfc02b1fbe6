/**
 * The surface of the Socket.IO client over the gateway. What differs, and why, stands in docs/migration.md.
 */
import type { Gateway, Gap } from "./index.js";

export interface SocketOptions {
  /** The name of an upstream in the daemon's configuration, in place of a URL. */
  upstream?: string;
  namespace?: string;
  /** What the server is told at the connect; a function is asked at each `connect()`. Not with `upstream`. */
  auth?: Record<string, unknown> | ((callback: (auth: Record<string, unknown>) => void) => void);
  /** As of the Socket.IO client; not with `upstream`. */
  query?: Record<string, string>;
  path?: string;
  addTrailingSlash?: boolean;
  extraHeaders?: Record<string, string>;
  /** Certificates in PEM form, which are trusted instead of the system's. */
  ca?: string | Uint8Array | (string | Uint8Array)[];
  rejectUnauthorized?: boolean;
  autoConnect?: boolean;
  /** `false`: end with the first failure or loss. How often is tried otherwise is the daemon's affair. */
  reconnection?: boolean;
  retries?: number;
  ackTimeout?: number;
  /** The daemon's socket, or a client of it. */
  socket?: string;
  gateway?: Gateway;
  /** Other options of the Socket.IO client: transports, pauses and the like are the daemon's affair; what only its
   * configuration can say (`cert`, `agent`, `parser`, …) is refused. */
  [other: string]: unknown;
}

type Listener = (...args: any[]) => void;

declare class Emitter {
  on(event: string, listener: Listener): this;
  once(event: string, listener: Listener): this;
  off(event?: string, listener?: Listener): this;
  addEventListener(event: string, listener: Listener): this;
  addListener(event: string, listener: Listener): this;
  removeListener(event?: string, listener?: Listener): this;
  removeEventListener(event?: string, listener?: Listener): this;
  removeAllListeners(event?: string): this;
  listeners(event: string): Listener[];
  hasListeners(event: string): boolean;
}

export interface DisconnectDetails {
  description?: string;
  /** `reason` is the gateway's word, as in docs/protocol.md. */
  context: { reason: string };
}

export class Socket extends Emitter {
  /** The server's id of the shared connection. */
  readonly id: string | undefined;
  readonly connected: boolean;
  readonly disconnected: boolean;
  /** Connected, or will be by itself. */
  readonly active: boolean;
  readonly recovered: boolean;
  auth: SocketOptions["auth"];
  readonly io: Manager;

  on(event: "connect", listener: () => void): this;
  on(event: "connect_error", listener: (error: Error & { reason?: string; description?: string }) => void): this;
  on(event: "disconnect", listener: (reason: string, details?: DisconnectDetails) => void): this;
  on(event: string, listener: Listener): this;

  connect(): this;
  open(): this;
  disconnect(): this;
  close(): this;
  /** A function as the last argument gets the acknowledgement. */
  emit(event: string, ...args: any[]): this;
  emitWithAck(event: string, ...args: any[]): Promise<any>;
  send(...args: any[]): this;
  timeout(milliseconds: number): this;
  compress(compress: boolean): this;
  readonly volatile: this;

  onAny(listener: Listener): this;
  prependAny(listener: Listener): this;
  offAny(listener?: Listener): this;
  listenersAny(): Listener[];
  onAnyOutgoing(listener: Listener): this;
  prependAnyOutgoing(listener: Listener): this;
  offAnyOutgoing(listener?: Listener): this;
  listenersAnyOutgoing(): Listener[];
}

/** Tells `open`, `close`, `error`, `reconnect`, `reconnect_attempt`, `reconnect_error`, and the gateway's own `gap`. */
export class Manager extends Emitter {
  constructor(uri: string, options?: SocketOptions);
  readonly opts: SocketOptions;
  readonly uri: string | undefined;
  socket(namespace: string, options?: SocketOptions): Socket;
  reconnection(): boolean;
  on(event: "gap", listener: (gap: Gap) => void): this;
  on(event: string, listener: Listener): this;
}

export function io(uri: string, options?: SocketOptions): Socket;
export function io(options: SocketOptions & { upstream: string }): Socket;
export { io as connect };
export default io;
export const protocol: number;
