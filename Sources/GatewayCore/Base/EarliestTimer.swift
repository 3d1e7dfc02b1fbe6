/// One timer for many instants, of which nearly all lose their meaning before they come: it rings at the earliest one that
/// was asked for, and only an earlier one replaces it. Whoever hears it looks what is due, and asks for the next one.
struct EarliestTimer {
  private var armed: (timer: Timers.ID, due: MonotonicInstant)?

  /// Whether it rings too late for that instant, and has to be armed.
  func isLater(than due: MonotonicInstant) -> Bool { armed.map { due < $0.due } ?? true }

  /// Rings at that instant, and no more at the one before.
  mutating func arm(at due: MonotonicInstant, _ timers: Timers, _ ring: @escaping () -> Void) {
    timers.cancel(armed?.timer)
    armed = (timers.at(due, ring), due)
  }

  /// It rang.
  mutating func rang() { armed = nil }
}
