/// What long-polling has of the link that it carries: its HTTP requests with their cookies, and its limits.
protocol PollingRequests: AnyObject {
  /// Where they go now.
  var place: DialTarget { get }
  /// Limit of a phase where something can be fallen back on.
  var fallbackLimit: Duration { get }
  /// Largest packet, in bytes.
  var packetLimit: Int { get }
  /// Longest ping times that the server may name.
  var pingLimit: Duration { get }
  var memory: MemoryBudgets { get }

  /// Whether the server refused a POST of several packets that may be small enough each.
  var postsApart: Bool { get }
  func notePostsApart()

  /// One request of this moment; `sid` belongs to a session that is open.
  func request(_ transport: TransportName, _ revision: EngineIORevision, sid: String?) -> DialRequest

  /// Takes the cookies out of an answer's header lines.
  func heard(_ headers: [HTTPHeader])
}
