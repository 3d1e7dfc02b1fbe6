/// Writes commands for a Redis server: arrays of bulk strings, one behind the other. "Redis serialization protocol
/// specification", section "Sending commands to a Redis server".
struct RESPWriter: Sendable {
  /// What was written and not removed.
  private(set) var bytes: [UInt8] = []

  /// Most bytes of memory that are kept for the next commands.
  private static let spareLimit = 64 << 10

  /// A command while it is written, word for word.
  struct Command {
    fileprivate var bytes: [UInt8]
    fileprivate var count = 0

    mutating func append(_ word: RawSpan) {
      begin(word.byteCount)
      bytes.append(word)
      end()
    }

    mutating func append(_ word: [UInt8]) { append(word.span.bytes) }

    mutating func append(_ word: StaticString) {
      begin(word.utf8CodeUnitCount)
      bytes.append(word)
      end()
    }

    mutating func append(_ word: String) {
      begin(word.utf8.count)
      bytes.append(contentsOf: word.utf8)
      end()
    }

    /// A number is a word of its decimal digits.
    mutating func append(_ number: some FixedWidthInteger) {
      begin(Self.digits(number))
      bytes.append(decimal: number)
      end()
    }

    /// Two numbers with a dash between them are a word: the id of an entry of a stream.
    mutating func append(_ first: UInt64, _ second: UInt64) {
      begin(Self.digits(first) &+ 1 &+ Self.digits(second))
      bytes.append(decimal: first)
      bytes.append(UInt8(ascii: "-"))
      bytes.append(decimal: second)
      end()
    }

    private mutating func begin(_ length: Int) {
      count &+= 1
      bytes.append(UInt8(ascii: "$"))
      bytes.append(decimal: length)
      bytes.append("\r\n")
    }

    private mutating func end() { bytes.append("\r\n") }

    private static func digits(_ number: some FixedWidthInteger) -> Int {
      var (rest, count) = (number.magnitude / 10, number < 0 ? 2 : 1)
      while rest > 0 {
        rest /= 10
        count &+= 1
      }
      return count
    }
  }

  /// Writes one command: its name, and the words that `body` appends.
  mutating func write(_ name: StaticString, _ body: (inout Command) -> Void = { _ in }) {
    write {
      $0.append(name)
      body(&$0)
    }
  }

  /// Writes one command of these words, at least one.
  mutating func write(words: [String]) {
    write { for word in words { $0.append(word) } }
  }

  private mutating func write(_ body: (inout Command) -> Void) {
    let start = bytes.count
    var command = Command(bytes: bytes)
    bytes = []
    body(&command)
    var head: [UInt8] = [UInt8(ascii: "*")]
    head.append(decimal: command.count)
    head.append("\r\n")
    bytes = command.bytes
    command.bytes = []
    bytes.insert(contentsOf: head, at: start)
  }

  /// Forgets what was written.
  mutating func removeAll() { bytes.removeAll(keepingCapacity: bytes.capacity <= Self.spareLimit) }
}
