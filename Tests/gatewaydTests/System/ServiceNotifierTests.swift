@testable import GatewayCore
import Glibc
import Testing

@testable import gatewayd

/// What the service manager hears, and what it passes. One after the other: the environment is the process's.
@Suite(.serialized) struct ServiceNotifierTests {
  /// The service manager's end: a datagram socket named by `$NOTIFY_SOCKET`.
  private final class Listener {
    private let directory: TemporaryDirectory
    private let socket: Int32

    init() throws {
      directory = try TemporaryDirectory()
      socket = Descriptors.datagramSocket()
      try UnixSocket.bind(socket, to: directory / "notify")
      setenv("NOTIFY_SOCKET", directory / "notify", 1)
    }

    deinit {
      unsetenv("NOTIFY_SOCKET")
      close(socket)
    }

    /// The lines of the oldest datagram.
    func next() -> [Substring] {
      var buffer = [UInt8](repeating: 0, count: 4_096)
      let count = recv(socket, &buffer, buffer.count, 0)
      return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self).split(separator: "\n")
    }
  }

  @Test func readinessStatusAndStopAreTold() throws {
    let listener = try Listener()
    let notifier = ServiceNotifier()
    notifier.ready(status: "2 upstreams\nREADY=0")
    #expect(listener.next() == ["READY=1", "STATUS=2 upstreams READY=0"])
    notifier.status("1 client")
    #expect(listener.next() == ["STATUS=1 client"])
    notifier.stopping()
    #expect(listener.next() == ["STOPPING=1", "STATUS=stopping"])
  }

  @Test func aReloadSaysWhenItBegan() throws {
    let listener = try Listener()
    ServiceNotifier().reloading()
    let lines = listener.next()
    #expect(lines.first == "RELOADING=1")
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    let began = lines.last.flatMap { $0.hasPrefix("MONOTONIC_USEC=") ? Int($0.dropFirst(15)) : nil }
    let microseconds = now.tv_sec * 1_000_000 + now.tv_nsec / 1_000
    #expect(began.map { (microseconds - 10_000_000...microseconds).contains($0) } == true)
  }

  @Test func withoutServiceManagerNothingHappens() {
    ServiceNotifier().ready(status: "up")
    #expect(ServiceNotifier.takePassedSockets() == [])
  }

  @Test func socketsMeantForAnotherProcessAreLeftAlone() {
    setenv("LISTEN_PID", "1", 1)
    setenv("LISTEN_FDS", "1", 1)
    setenv("LISTEN_FDNAMES", "control", 1)
    #expect(ServiceNotifier.takePassedSockets() == [])
    #expect(getenv("LISTEN_FDS") == nil)
  }

  @Test func theSocketNamedControlIsChosen() throws {
    let first = PassedSocket(descriptor: 3, name: "other", isUnixListener: true)
    let control = PassedSocket(descriptor: 4, name: "control", isUnixListener: true)
    let inet = PassedSocket(descriptor: 5, name: "web", isUnixListener: false)
    #expect(try PassedSocket.listeners(among: []) == [])
    #expect(try PassedSocket.listeners(among: [first, control, inet]) == [4])
    #expect(try PassedSocket.listeners(among: [first, inet]) == [3])
  }

  @Test func passedSocketsThatCannotBeUsedAreAConfigurationError() {
    let wrong = PassedSocket(descriptor: 3, name: "control", isUnixListener: false)
    let one = PassedSocket(descriptor: 3, name: "a", isUnixListener: true)
    let two = PassedSocket(descriptor: 4, name: "b", isUnixListener: true)
    for passed in [[wrong], [one, two]] {
      #expect {
        try PassedSocket.listeners(among: passed)
      } throws: { ($0 as? StartFailure)?.status == .configuration }
    }
  }

  @Test func statusIsPublishedOncePerSecondAndOnlyWhenItChanged() {
    let clock = SteppedClock()
    let timers = Timers(time: clock)
    var clients = 0
    var published: [String] = []
    let publisher = StatusPublisher(timers: timers)
    publisher.summary = { "\(clients) clients" }
    publisher.publish = { published.append($0) }
    publisher.published("0 clients")
    publisher.changed()
    clock.step(timers, .seconds(1))
    #expect(published == [])
    for _ in 0..<100 {
      clients += 1
      publisher.changed()
    }
    #expect(timers.count == 1)
    clock.step(timers, .seconds(1))
    #expect(published == ["100 clients"])
    publisher.changed()
    publisher.stop()
    clients = 7
    clock.step(timers, .seconds(1))
    #expect(published == ["100 clients"])
  }

  private final class SteppedClock: TimeSource {
    var now = MonotonicInstant(nanoseconds: 0)
    var wallMilliseconds: Int64 = 0
    func step(_ timers: Timers, _ duration: Duration) {
      now = now + duration
      timers.fire()
    }
  }
}
