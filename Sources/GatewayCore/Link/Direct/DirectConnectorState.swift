/// What all attempts of one connection share, when it has a transport of its own: where they go, with what, and what
/// worked the last time.
final class DirectConnectorState {
  /// The upstream's URLs, the preferred one first.
  let places: [DialTarget]
  let credentials: UpstreamCredentials
  let seams: DirectSeams
  let layer: TraceFact.Layer
  /// Limit of the kind's own handshake.
  let joinLimit: Duration
  /// For the server's answer when it is asked whether it is still there.
  let probeLimit: Duration
  let refresh: RefreshSettings
  /// Offered to the server, in the order of preference; empty offers none.
  var subprotocols: [String] = []
  /// Which of the places worked the last time.
  var remembered: Int?
  private var jars = ServerMemory<DialTarget, CookieJar>(limit: jarLimit)
  private weak var link: DirectLink?
  /// From so many bytes on a place was seen not to take a message.
  private var refusedSizes = RefusalMemory<Int, Int>()
  private lazy var watch = CredentialWatch(credentials, timers: seams.timers)

  var observer: (any UpstreamObserver)? {
    didSet { link?.retrace() }
  }

  /// How long a goodbye may take.
  static let closeLimit: Duration = .seconds(1)
  /// Most places whose cookies are kept.
  private static let jarLimit = 32

  /// - Parameter path: makes the path of a request from a URL.
  init(
    _ specification: UpstreamSpecification, seams: DirectSeams, layer: TraceFact.Layer,
    path: (UpstreamURL) -> String = { $0.path.isEmpty ? "/" : $0.path }
  ) {
    places = DialTarget.all(of: specification, path: path)
    credentials = UpstreamCredentials(specification, readings: seams.readings)
    self.seams = seams
    self.layer = layer
    let settings = specification.settings
    joinLimit = settings.connectTimeout ?? settings.handshake
    probeLimit = settings.probeTimeout
    refresh = settings.refresh
  }

  /// Such a kind writes the text anew, which takes some nanoseconds for each byte.
  let partsLimit = 2 << 20

  var hosts: [String] { places.map { seams.dialer.firstHost(of: request(to: $0, nil)) } }

  /// How the preferred place is dialled, without what is read for each attempt.
  var route: DialRequest { request(to: places[0], nil) }

  func request(to place: DialTarget, _ secrets: ConnectSecrets?) -> DialRequest {
    var request = place.request().adding(secrets, at: place)
    request.subprotocols = subprotocols
    return request.adding(jars[place] ?? CookieJar(), at: place, now: seams.time.wallMilliseconds)
  }

  /// Takes the cookies out of an answer's header lines.
  func heard(_ headers: [HTTPHeader], at place: DialTarget) {
    guard headers.contains(where: { $0.name == "set-cookie" }) else { return }
    var jar = jars[place] ?? CookieJar()
    jar.store(headers, from: place, now: seams.time.wallMilliseconds)
    jars[place] = jar
  }

  /// The server has ended the link because of a message of so many bytes, or a smaller one.
  func refused(_ bytes: Int, by place: Int) { refusedSizes.note(bytes, of: place, at: seams.time.now) }

  /// A message that the server may take.
  func checked(_ message: PreparedMessage) throws(MessageProblem) -> PreparedMessage {
    if let problem = sizeProblem(message) { throw problem }
    return message
  }

  /// What a message is told that is as large as one that the server refused; nil otherwise.
  func sizeProblem(_ message: PreparedMessage) -> MessageProblem? {
    guard let remembered, let bytes = refusedSizes.value(of: remembered, at: seams.time.now) else { return nil }
    return MessageSize(body: bytes, attachment: bytes).problem(with: MessageSize(message))
  }

  /// Starts one attempt.
  func dial(
    owner: any UpstreamChannelOwner, _ makeSession: @escaping (DirectLink) -> any DirectSession
  ) -> any UpstreamChannel {
    watch.stop()
    let link = DirectLink(self, owner: owner, makeSession)
    self.link = link
    link.start()
    return link
  }

  func awaitNewCredentials(_ done: @escaping () -> Void) { watch.start(done) }
}

/// What the links of such a kind need of the outside.
struct DirectSeams {
  let dialer: any TransportDialer
  let readings: CredentialReads
  let timers: Timers
  let time: any TimeSource
  let random: any RandomSource
  let pendingCloses: PendingCloses
  let servers: ConfiguredServers

  /// - Parameter dialer: makes the transports of the kind.
  init(_ seams: UpstreamSeams, dialer: any TransportDialer) {
    self.dialer = dialer
    readings = CredentialReads(reader: seams.credentials)
    timers = seams.timers
    time = seams.time
    random = seams.random
    pendingCloses = seams.pendingCloses
    servers = seams.servers
  }
}
