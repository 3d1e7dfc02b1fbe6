/// The number and the time of an event as its line says them.
struct EventStamp: Equatable, Sendable {
  /// Bytes of a notification for everything but the name and the arguments: these two numbers (`DecimalText.room`), the
  /// keys between them, quotes.
  static let tailRoom = 96

  private(set) var sequence = DecimalText()
  private(set) var time = DecimalText()

  init() {}

  /// `time` in milliseconds since 1970; what is before that counts as 1970.
  init(sequence: UInt64, time: Int64) { set(sequence: sequence, time: time) }

  mutating func set(sequence: UInt64, time: Int64) {
    self.sequence.set(sequence)
    self.time.set(UInt64(clamping: time))
  }
}
