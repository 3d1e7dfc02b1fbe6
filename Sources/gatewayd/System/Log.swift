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
