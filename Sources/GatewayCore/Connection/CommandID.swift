/// The id by which local programs know a command, globally unique. It is put into words when somebody asks for them, which
/// for most requests is never.
struct CommandID {
  /// All of it, or what stands before the number.
  private let words: String
  private let number: UInt64?

  /// An id that was put into words before.
  init(_ words: String) {
    self.words = words
    number = nil
  }

  /// A new one: `life` is different for each start of the daemon.
  init(life: String, number: UInt64) {
    words = life
    self.number = number
  }

  var text: String { number.map { words + String($0, radix: 36) } ?? words }
}
