@testable import GatewayCore
import Glibc
import Testing

@testable import gatewayd

/// The kernel's word on the network, and on sleep.
@Suite struct NetworkWatchTests {
  @Test func addressesOfThisMachineAreHere() throws {
    let observer = try NetlinkObserver(loop: EventLoop())
    #expect(observer.path(to: "127.0.0.1") == .here)
    #expect(observer.path(to: "127.3.2.1") == .here)
    #expect(observer.addresses(of: "10.1.2.3") == ["10.1.2.3"])
    #expect(observer.addresses(of: "::1") == ["::1"])
    #expect(observer.addresses(of: "localhost") == ["127.0.0.1", "::1"])
    #expect(observer.addresses(of: "chat.example") == [])
  }

  @Test func namesOfTheHostsFileAreFoundWhateverTheirCase() throws {
    let folder = try TemporaryDirectory()
    let path = folder.path + "/hosts"
    let text = "# own\n127.0.1.1\tOwn.example own # and more\n\n::1 own\n10.0.0.1 other\n"
    let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    _ = text.withCString { write(descriptor, $0, strlen($0)) }
    close(descriptor)
    #expect(HostsFile.addresses(of: "OWN", path: path) == ["127.0.1.1", "::1"])
    #expect(HostsFile.addresses(of: "own.example", path: path) == ["127.0.1.1"])
    #expect(HostsFile.addresses(of: "and", path: path) == [])
    #expect(HostsFile.addresses(of: "own", path: folder.path + "/none") == [])
  }

  /// A descriptor that is always readable and never holds a report.
  private static func brokenReports() -> Int32 {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return -1 }
    close(ends[1])
    _ = fcntl(ends[0], F_SETFD, FD_CLOEXEC)
    return ends[0]
  }

  /// Turns until something was told, at most ten seconds.
  private func turn(_ loop: EventLoop, until holds: () -> Bool) throws {
    let end = loop.time.now + .seconds(10)
    while !holds(), loop.time.now < end { try loop.turn(sleepingAtMost: .milliseconds(10)) }
  }

  @Test func reportsThatCannotBeReadAreAskedForAnew() throws {
    let loop = try EventLoop()
    var opened = 0
    let observer = try NetlinkObserver(loop: loop) {
      opened += 1
      return opened == 1
        ? Self.brokenReports() : socket(AF_NETLINK, Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue), 0)
    }
    var changes: [NetworkChange] = []
    var problems: [SystemError] = []
    observer.onChange = { changes.append($0) }
    observer.onBlind = { problems.append($0) }
    try turn(loop) { !changes.isEmpty }
    #expect(changes.first == NetworkChange(touched: nil))
    #expect(opened == 2 && problems.isEmpty)
  }

  @Test func whereNothingIsReportedAnyMoreEverythingCountsAsReachable() throws {
    let loop = try EventLoop()
    var opened = 0
    let observer = try NetlinkObserver(loop: loop) {
      opened += 1
      if opened == 1 { return Self.brokenReports() }
      errno = EPERM
      return -1
    }
    var changes: [NetworkChange] = []
    var problems: [Int32] = []
    observer.onChange = { _ in
      // Those who hear of it ask at once.
      #expect(observer.path(to: "203.0.113.1") == .here && observer.hasUsableInterface)
      changes.append(NetworkChange(touched: nil))
    }
    observer.onBlind = { problems.append($0.code) }
    try turn(loop) { !changes.isEmpty }
    #expect(problems == [EPERM] && changes.count == 1 && opened == 2)
  }

  @Test func aClockThatWasSetIsNoResumeAndASleepIsOne() throws {
    var asleep = Duration.seconds(100)
    let watch = try SuspendWatch(loop: EventLoop(), asleep: { asleep })
    var naps: [Duration] = []
    watch.onResume = { naps.append($0) }
    watch.clockWasSet()
    asleep += .seconds(7)
    watch.clockWasSet()
    watch.clockWasSet()
    #expect(naps == [.seconds(7)])
  }
}
