import CNetlink
import GatewayCore
import Glibc

/// The machine's links, addresses and routes over rtnetlink: the kernel reports changes, and is asked for the route to
/// one address at a time, which counts policy rules, metrics and black holes as they are. Nothing is polled.
/// Decision 0022.
final class NetlinkObserver: NetworkObserver {
  var onChange: ((NetworkChange) -> Void)?
  /// Told once, when the kernel reports nothing any more and cannot be asked to do it again. From then on everything
  /// counts as reachable, because nothing would tell that it is again.
  var onBlind: ((SystemError) -> Void)?

  private let loop: EventLoop
  /// Negative while there is none.
  private var reports: Int32
  private let questions: Int32
  private var source: EventLoop.IOSource?
  private var timer: Timers.ID?
  private var lastTold: MonotonicInstant?
  /// What was reported since the last time that it was told; nil: nothing.
  private var pending: NetworkChange?
  private var isBlind = false
  private let watch: () -> Int32

  /// Changes come in flurries. The first one is told after this time, with all that came meanwhile …
  static let settling: Duration = .milliseconds(20)
  /// … and the next not before this much later.
  static let spacing: Duration = .milliseconds(500)

  /// Throws where the kernel or a sandbox does not allow it. `watch` opens the socket that reports come from.
  init(loop: EventLoop, watch: @escaping () -> Int32 = gw_netlink_watch) throws(SystemError) {
    self.loop = loop
    self.watch = watch
    reports = watch()
    guard reports >= 0 else { throw SystemError("watch the network") }
    questions = gw_netlink_open()
    guard questions >= 0 else {
      let error = SystemError("ask for routes")
      close(reports)
      throw error
    }
    try listen()
  }

  deinit {
    loop.timers.cancel(timer)
    source = nil
    if reports >= 0 { close(reports) }
    close(questions)
  }

  func path(to address: String) -> NetworkPath? {
    guard !isBlind else { return .here }
    var route = gw_route()
    switch gw_netlink_route(questions, address, &route) {
    case 0: return nil
    case 1 where route.is_local != 0: return .here
    case 1:
      // Without carrier the route stays, at least for a while, and leads nowhere.
      guard gw_netlink_is_running(questions, route.interface) != 0 else { return nil }
      return .interface(route.interface, source: withUnsafeBytes(of: route.source) { [UInt8]($0) })
    default: return .here
    }
  }

  func addresses(of host: String) -> [String] {
    if gw_is_address(host) == 1 { return [host] }
    if UpstreamURL.isLoopbackName(host) { return ["127.0.0.1", "::1"] }
    return []
  }

  func localAddresses(of name: String) -> [String] {
    HostsFile.addresses(of: name).filter { gw_is_address($0) == 1 }
  }

  var hasUsableInterface: Bool { isBlind || gw_has_usable_address() != 0 }

  private func read() {
    var news = gw_net_news()
    guard gw_netlink_read(reports, &news) == 0 else {
      source = nil
      close(reports)
      reports = -1
      // What happens meanwhile is not reported. The socket is opened again in the moment when this is told.
      pending = NetworkChange(touched: nil)
      return tellSoon()
    }
    guard news.is_any != 0 else { return }
    note(news)
    tellSoon()
  }

  private func listen() throws(SystemError) {
    source = try loop.addIO(reports, .readable) { [weak self] _ in self?.read() }
  }

  private func tellSoon() {
    guard timer == nil else { return }
    let now = loop.time.now
    let due = max(now + Self.settling, lastTold.map { $0 + Self.spacing } ?? now)
    timer = loop.timers.at(due) { [weak self] in self?.tell() }
  }

  private func note(_ news: gw_net_news) {
    let touched = withUnsafeBytes(of: news.touched) {
      Set($0.bindMemory(to: Int32.self).prefix(Int(news.count)))
    }
    let before = pending ?? NetworkChange(touched: [])
    pending = NetworkChange(touched: news.is_incomplete != 0 ? nil : before.touched.map { $0.union(touched) })
  }

  private func tell() {
    timer = nil
    lastTold = loop.time.now
    if reports < 0 { openAgain() }
    guard let change = pending else { return }
    pending = nil
    onChange?(change)
  }

  private func openAgain() {
    guard !isBlind else { return }
    do throws(SystemError) {
      reports = watch()
      guard reports >= 0 else { throw SystemError("watch the network again") }
      try listen()
    } catch {
      isBlind = true
      onBlind?(error)
    }
  }
}

/// `/etc/hosts`, hosts(5): names that need no network. Read anew each time, because it is asked seldom and changes
/// seldom.
enum HostsFile {
  /// More of the file is not read, in bytes: some use it as a block list.
  static let sizeLimit = 256 << 10

  /// The addresses of a name, in the order of the file.
  static func addresses(of name: String, path: String = "/etc/hosts") -> [String] {
    guard let text = contents(path) else { return [] }
    let name = name.lowercased()
    return text.split(separator: "\n").compactMap { line in
      let fields = line.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" || $0 == "\r" }
      guard let address = fields.first, fields.dropFirst().contains(where: { $0.lowercased() == name }) else {
        return nil
      }
      return String(address)
    }
  }

  private static func contents(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: sizeLimit)
    let count = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
    return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
  }
}
