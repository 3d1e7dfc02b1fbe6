/// The text of all metrics while it is put together, in portions: with thousands of connections that takes longer than
/// a turn of the loop may.
final class MetricsReading {
  private enum Step {
    /// What of the connections is not summed up yet.
    case sums(Snapshot<Connection>)
    /// What of the upstreams is not written yet, of which family.
    case upstreams(ArraySlice<String>, family: Int)
    case end
  }

  private var writer: MetricsWriter
  /// Nil before the first portion: one that waits for its turn holds no list.
  private var step: Step?
  /// By the label of the upstream.
  private var figures: [String: UpstreamFigures] = [:]
  private var names: [String] = []

  /// The families are made once for the whole text.
  private let families = MetricsTable.upstream
  private static let portion = ListRest<Connection>.portion

  private let account: Account

  /// `account`: of whoever asked.
  init(_ format: MetricsFormat, for account: Account) {
    writer = MetricsWriter(format)
    self.account = account
  }

  /// As far as it is written.
  var text: [UInt8] { writer.text }

  /// Does the next portion. Returns whether that was all.
  func read(_ gateway: Gateway) -> Bool {
    switch step {
    case nil: step = begin(gateway)
    case .sums(let rest):
      // What was released meanwhile is not among the retired ones yet: they were looked at when this one was there.
      var portion = Portion(Self.portion, gateway.seams.timers)
      while !rest.isEmpty, portion.takesMore(), let connection = rest.next() {
        figures[UpstreamFigures.label(of: connection), default: UpstreamFigures()]
          .add(connection, outbox: gateway.relay.amount(for: connection, of: nil))
      }
      if rest.isEmpty { step = beginUpstreams() }
    case .upstreams(let rest, let family): step = write(rest, family)
    case .end: break
    }
    guard case .end = step else { return false }
    return true
  }

  private func begin(_ gateway: Gateway) -> Step {
    let daemon = DaemonFigures(gateway)
    for family in MetricsTable.daemon {
      writer.begin(family.name, family.type, family.help)
      family.write(daemon, &writer)
    }
    for (name, counters) in gateway.upstreams.retired { figures[name, default: UpstreamFigures()].counters = counters }
    return .sums(Snapshot(gateway.upstreams.pool.inNoOrder, gateway.shares.work, for: account))
  }

  private func beginUpstreams() -> Step {
    names = figures.keys.sorted()
    return .upstreams(names[...], family: 0)
  }

  private func write(_ rest: ArraySlice<String>, _ index: Int) -> Step {
    let family = families[index]
    if rest.count == names.count { writer.begin(family.name, family.type, family.help) }
    for name in rest.prefix(Self.portion) {
      writer.subject = ("upstream", name)
      if let subject = figures[name] { family.write(subject, &writer) }
    }
    writer.subject = nil
    if rest.count > Self.portion { return .upstreams(rest.dropFirst(Self.portion), family: index) }
    if index + 1 < families.count { return .upstreams(names[...], family: index + 1) }
    writer.end()
    return .end
  }
}

extension Gateway {
  /// Puts the text of all metrics together, in turns of its own, and hands it over, unless it is not asked for any more.
  public func readMetrics(
    _ format: MetricsFormat, while isWanted: @escaping () -> Bool, _ done: @escaping ([UInt8]) -> Void
  ) {
    let reading = MetricsReading(format, for: .configuration)
    shares.work.add(for: .configuration) { [reference] in
      guard let gateway = reference.object, isWanted() else { return true }
      guard reading.read(gateway) else { return false }
      done(reading.text)
      return true
    }
  }
}
