import GatewayCore

/// Closes HTTP connections that were not used for a while. libcurl looks through its idle ones only when a transfer
/// of their cache begins, so without this the last ones would stay open for as long as the daemon lives. When it has
/// been quiet for long enough, a transfer is begun that fails before it opens a socket.
final class CurlSweep {
  /// How long an idle connection is kept, in seconds: many servers close theirs after five, and a request that crosses
  /// such a close on its way is lost.
  static let idleLimit = 4
  /// From a connection's last use to its end, at the latest when nothing else begins. libcurl counts whole seconds.
  static let delay: Duration = .milliseconds(Int64(idleLimit) * 1_000 + 1_100)
  /// libcurl looks once a second at most.
  private static let spacing: Duration = .milliseconds(1_100)

  private let loop: EventLoop
  private var timer: Timers.ID?
  private var broom: CurlEasy?
  private var lastUse = MonotonicInstant(nanoseconds: 0)
  private var lastLook = MonotonicInstant(nanoseconds: 0)

  init(loop: EventLoop) { self.loop = loop }

  deinit { loop.timers.cancel(timer) }

  /// A transfer of the same cache begins, for which libcurl looks by itself.
  func transferBegins() { lastLook = loop.time.now }

  /// An exchange is over; its connection may be idle now.
  func exchangeEnded(on multi: CurlMulti) {
    lastUse = loop.time.now
    if timer == nil { arm(lastUse + Self.delay, multi) }
  }

  private func arm(_ due: MonotonicInstant, _ multi: CurlMulti) {
    timer = loop.timers.at(due) { [weak self, weak multi] in
      guard let self, let multi else { return }
      timer = nil
      let due = max(lastUse + Self.delay, lastLook + Self.spacing)
      if loop.time.now < due { arm(due, multi) } else { sweep(multi) }
    }
  }

  private func sweep(_ multi: CurlMulti) {
    do throws(CurlProblem) {
      let easy = try CurlEasy(multi)
      try easy.set(.url, "http://127.0.0.1:1/")
      // Else it could be written on an idle connection.
      try easy.set(.freshConnection, 1)
      // Nothing of the environment counts.
      try easy.set(.noProxy, "")
      try easy.set(.proxy, "")
      try easy.set(.noSignal, 1)
      try easy.set(.idleAge, Self.idleLimit)
      try easy.refuseSockets()
      easy.onDone = { [weak self] _ in self?.broom = nil }
      broom = easy
      try easy.start(CurlEasy.Limits(connecting: .seconds(1), answer: .seconds(1)))
    } catch {
      // Memory is short: another exchange's end tries again.
      broom = nil
    }
  }
}
