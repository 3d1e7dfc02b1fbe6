/// Every name that a param of any method has. What it means and allows depends on the method: see `MethodTable`.
enum ParameterName: Int, CaseIterable, Sendable {
  case ack, ackTimeout, answer, args, auth, client, coalesce, compress, connection, credit, delivery, enter, error,
    event, events, format, host,
    id, ids,
    key,
    kwargs, last, leave, limit, n,
    namespace,
    noQueue, onSlow, options, part, payloads, protocolVersion, queue, retries, right, since, state, states, strict,
    subscription,
    timeout,
    trace, ttl, uid, upstream, url, user, volatile

  /// The name on the line.
  var text: String {
    switch self {
    case .ack: "ack"
    case .ackTimeout: "ack_timeout"
    case .answer: "answer"
    case .args: "args"
    case .auth: "auth"
    case .client: "client"
    case .coalesce: "coalesce"
    case .compress: "compress"
    case .connection: "connection"
    case .credit: "credit"
    case .delivery: "delivery"
    case .enter: "enter"
    case .error: "error"
    case .event: "event"
    case .events: "events"
    case .format: "format"
    case .host: "host"
    case .id: "id"
    case .ids: "ids"
    case .key: "key"
    case .kwargs: "kwargs"
    case .last: "last"
    case .leave: "leave"
    case .limit: "limit"
    case .n: "n"
    case .namespace: "namespace"
    case .noQueue: "no_queue"
    case .onSlow: "on_slow"
    case .options: "options"
    case .part: "part"
    case .payloads: "payloads"
    case .protocolVersion: "protocol"
    case .queue: "queue"
    case .retries: "retries"
    case .right: "right"
    case .since: "since"
    case .state: "state"
    case .states: "states"
    case .strict: "strict"
    case .subscription: "subscription"
    case .timeout: "timeout"
    case .trace: "trace"
    case .ttl: "ttl"
    case .uid: "uid"
    case .upstream: "upstream"
    case .url: "url"
    case .user: "user"
    case .volatile: "volatile"
    }
  }

  static let index = NameIndex(allCases.map(\.text))
}
