import GatewayCore

/// The daemon's log: drops what is below the level, counts what repeats, and hands the rest to the journal or to the
/// standard error output.
final class Log {
  /// Records less severe than this are dropped.
  var level: LogLevel = .info
  private let time: any TimeSource
  private let timers: Timers
  private let write: (LogRecord) -> Void
  private var filter = RepeatFilter()
  private var timer: Timers.ID?

  init(time: any TimeSource, timers: Timers, write: @escaping (LogRecord) -> Void) {
    self.time = time
    self.timers = timers
    self.write = write
  }

  /// Takes one record.
  func record(_ record: LogRecord) {
    guard record.level <= level else { return }
    guard filter.admit(record, at: time.now) else { return scheduleSummaries() }
    write(record)
  }

  /// Writes what is still held back, such as before the end.
  func flush() {
    timers.cancel(timer)
    timer = nil
    filter.takeSummaries(at: time.now + RepeatFilter.window).forEach(write)
  }

  private func scheduleSummaries() {
    guard timer == nil, let due = filter.nextSummary else { return }
    timer = timers.at(due) { [unowned self] in
      timer = nil
      filter.takeSummaries(at: time.now).forEach(write)
      scheduleSummaries()
    }
  }
}

/// Counts repeated facts instead of repeating them. Of each fact the first `burst` records pass; further ones within
/// `window` are held back and come out as one record that says how many there were.
struct RepeatFilter {
  private struct Window {
    var start: MonotonicInstant
    var passed: Int
    var held: Int
    var latest: LogRecord
  }

  /// Records of one fact that pass in each window.
  static let burst = 5
  static let window: Duration = .seconds(30)
  /// Facts told apart at a time. When there are more, all further facts of one kind count as the same.
  static let factLimit = 512

  private var windows: [LogRecord.Identity: Window] = [:]
  /// A full table is not searched for finished windows before this instant: a storm must not pay for it each time.
  private var nextSweep = MonotonicInstant(nanoseconds: .min)

  /// Whether the record is to be written now.
  mutating func admit(_ record: LogRecord, at now: MonotonicInstant) -> Bool {
    var identity = record.identity
    if windows[identity] == nil, windows.count >= Self.factLimit {
      if now >= nextSweep { dropFinished(at: now) }
      if windows.count >= Self.factLimit { identity = LogRecord.Identity(kind: record.kind, values: []) }
    }
    var window = windows[identity] ?? Window(start: now, passed: 0, held: 0, latest: record)
    if now - window.start >= Self.window, window.held == 0 {
      window = Window(start: now, passed: 0, held: 0, latest: record)
    }
    let passes = window.passed < Self.burst
    if passes { window.passed += 1 } else { window.held += 1 }
    window.latest = record
    windows[identity] = window
    return passes
  }

  /// When `takeSummaries` has something to say; nil when nothing is held back.
  var nextSummary: MonotonicInstant? {
    windows.values.lazy.filter { $0.held > 0 }.map { $0.start + Self.window }.min()
  }

  /// One record for each fact whose window is over and that was held back: the latest, with `repeated`.
  mutating func takeSummaries(at now: MonotonicInstant) -> [LogRecord] {
    var summaries: [LogRecord] = []
    for (identity, window) in windows where window.held > 0 && now - window.start >= Self.window {
      var record = window.latest
      record.facts.append(LogRecord.Fact(field: .repeated, value: String(window.held)))
      summaries.append(record)
      // The summary opens the next window: a fact that goes on is told once per window from now on.
      windows[identity] = Window(start: now, passed: Self.burst, held: 0, latest: window.latest)
    }
    dropFinished(at: now)
    return summaries
  }

  private mutating func dropFinished(at now: MonotonicInstant) {
    nextSweep = now + .seconds(1)
    windows = windows.filter { $0.value.held > 0 || now - $0.value.start < Self.window }
  }
}
