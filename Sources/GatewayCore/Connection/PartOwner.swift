/// A connection as each of its parts knows it. What else a part needs of it says a protocol of its own, which stands
/// beside the part if it is not here: none can reach all of the connection.
protocol PartOwner: AnyObject {
  /// What a timer calls: the connection lives until that is done. Nothing is done once it is gone.
  func ringing(_ body: @escaping () -> Void) -> () -> Void
  /// Tells the gateway what happened.
  func report(_ report: ConnectionReport)
}

/// The same, where the part speaks to the server.
protocol LinkOwner: PartOwner {
  var connector: any UpstreamConnector { get }
  /// The attempt or the conversation of this moment.
  var channel: (any UpstreamChannel)? { get }
}

/// What `Enters` needs to say something to the server beside the commands, and to tell of the answers.
protocol EntersOwner: LinkOwner {
  var state: ConnectionState { get }
  var stream: EventStream { get }
  /// Whose access rules hold for what is said to it.
  var rules: AccessPlace { get }
  var delivery: Delivery { get }
  var interests: Interests { get }
}
