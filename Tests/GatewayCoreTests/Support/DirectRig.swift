@testable import GatewayCore

/// Every kind of upstream with fakes all around it, for connections with a transport of their own.
final class DirectRig {
  let time = FakeTime()
  let timers: Timers
  let dialer = FakeTransportDialer()
  let credentials = FakeCredentials()
  let cryptography = WAMPScene.PlainCryptography()
  let factory: ConnectionFactory

  init() {
    timers = Timers(time: time)
    factory = ConnectionFactory(
      kinds: UpstreamKinds.make(
        UpstreamSeams(
          webSockets: dialer, lines: dialer, requester: nil, credentials: credentials, timers: timers, time: time,
          random: FakeRandom(), cryptography: cryptography)
      ).all)
  }

  static let socket = UpstreamURL(scheme: "raw+ws", host: "h", path: "/live", query: "v=1")
  static let lines = UpstreamURL(scheme: "tcp", host: "h", port: 4_000)

  func specification(
    _ url: UpstreamURL, _ change: (inout UpstreamSettings) -> Void = { _ in }
  ) -> UpstreamSpecification {
    var settings = UpstreamSettings()
    change(&settings)
    return UpstreamSpecification(name: "chat", url: url, namespace: "/", settings: settings, owner: nil)
  }

  /// Why an upstream is impossible; nil when it is not.
  func problem(_ url: UpstreamURL, _ change: (inout UpstreamSettings) -> Void = { _ in }) -> String? {
    factory.problem(with: specification(url, change))
  }

  /// A connection whose first attempt is under way.
  func connection(
    _ url: UpstreamURL, for requester: Account = .configuration, _ change: (inout UpstreamSettings) -> Void = { _ in }
  ) throws -> SocketIORig.Connection {
    var specification = specification(url, change)
    specification.requester = requester
    guard let connector = factory.connector(for: specification) else { throw NoKind() }
    let connection = SocketIORig.Connection(connector)
    connection.dial()
    return connection
  }

  struct NoKind: Error {}

  /// The same, open, with nothing left to read.
  func open(
    _ url: UpstreamURL, _ change: (inout UpstreamSettings) -> Void = { _ in }
  ) throws -> SocketIORig.Connection {
    let connection = try connection(url, change)
    transport.open()
    _ = transport.takeSent()
    _ = connection.log.take()
    return connection
  }

  /// The newest transport.
  var transport: FakeTransport { dialer.transports.last ?? FakeTransport.none }

  func advance(_ duration: Duration) {
    time.advance(by: duration)
    timers.fire()
  }

  /// Lets time pass, with every timer in between firing at its instant.
  func pass(_ duration: Duration) {
    let end = time.now + duration
    while let next = timers.nextDeadline, next <= end {
      if next > time.now { time.advance(by: next - time.now) }
      timers.fire()
    }
    time.advance(by: end - time.now)
  }
}

extension MessageProblem {
  /// The sentence for a person.
  var sentence: String {
    switch self {
    case .invalid(let sentence), .outdated(let sentence): sentence
    case .tooLarge(let limit, let size), .tooLargeForFleet(let limit, let size): "\(size) of \(limit)"
    }
  }
}
