/// A message that enters a room or a feed at the server, or leaves it: `EnterMessage("join", ["ops"])`.
public struct EnterMessage: Sendable, Hashable {
  public var event: String
  public var args: [JSON]
  /// An object of keyword arguments, where the kind of upstream has such.
  public var kwargs: JSON?
  /// The server is asked for an acknowledgement: `subscribe` waits for that of what it enters.
  public var ack: Bool

  public init(_ event: String, _ args: [JSON] = [], kwargs: JSON? = nil, ack: Bool = false) {
    self.event = event
    self.args = args
    self.kwargs = kwargs
    self.ack = ack
  }

  private var json: JSON {
    var members: [JSON.Member] = [.init("event", .string(event)), .init("args", .array(args))]
    if let kwargs { members.append(.init("kwargs", kwargs)) }
    if ack { members.append(.init("ack", true)) }
    return .object(members)
  }

  /// The text of a list of them; nil where there are none. Throws `InvalidParams` where they are nested too deeply for
  /// the daemon.
  static func text(of messages: [EnterMessage?]) throws(GatewayError) -> [UInt8]? {
    messages.isEmpty ? nil : try Arguments(messages.map { $0?.json ?? .null }).text
  }
}
