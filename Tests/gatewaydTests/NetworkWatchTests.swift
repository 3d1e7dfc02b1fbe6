import GatewayCore
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
    let descriptor = open(path, O_WRONLY | O_CREAT, 0o600)
    _ = text.withCString { write(descriptor, $0, strlen($0)) }
    close(descriptor)
    #expect(HostsFile.addresses(of: "OWN", path: path) == ["127.0.1.1", "::1"])
    #expect(HostsFile.addresses(of: "own.example", path: path) == ["127.0.1.1"])
    #expect(HostsFile.addresses(of: "and", path: path) == [])
    #expect(HostsFile.addresses(of: "own", path: folder.path + "/none") == [])
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
