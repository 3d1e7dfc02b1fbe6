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
      append(word.byteCount) { $0.put(word) }
    }

    mutating func append(_ word: [UInt8]) { append(word.span.bytes) }

    mutating func append(_ word: StaticString) {
      append(word.utf8CodeUnitCount) { $0.put(word) }
    }

    mutating func append(_ word: String) {
      var word = word
      word.withUTF8 { text in append(text.count) { $0.put(UnsafeRawBufferPointer(text)) } }
    }

    /// A number is a word of its decimal digits.
    mutating func append(_ number: some FixedWidthInteger) {
      let magnitude = UInt64(number.magnitude)
      append(RawWriter.digits(of: magnitude) &+ (number < 0 ? 1 : 0)) {
        if number < 0 { $0.put("-") }
        $0.put(decimal: magnitude)
      }
    }

    /// Two numbers with a dash between them are a word: the id of an entry of a stream.
    mutating func append(_ first: UInt64, _ second: UInt64) {
      append(RawWriter.digits(of: first) &+ 1 &+ RawWriter.digits(of: second)) {
        $0.put(decimal: first)
        $0.put("-")
        $0.put(decimal: second)
      }
    }

    /// A word of so many bytes, which `body` writes.
    @inline(__always)
    private mutating func append(_ length: Int, _ body: (inout RawWriter) -> Void) {
      count &+= 1
      bytes.append(room: length &+ Self.frameLimit) {
        $0.put("$")
        $0.put(decimal: UInt64(length))
        $0.put("\r\n")
        body(&$0)
        $0.put("\r\n")
      }
    }

    /// Bytes around a word.
    private static let frameLimit = RawWriter.digitLimit + 5
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
    // How many words there are is known when they are written: of nearly every command two digits.
    command.bytes.append("*00\r\n")
    body(&command)
    bytes = command.bytes
    command.bytes = []
    if (10..<100).contains(command.count) {
      bytes[start + 1] += UInt8(command.count / 10)
      bytes[start + 2] += UInt8(command.count % 10)
    } else {
      bytes.replaceSubrange(start + 1..<start + 3, with: String(command.count).utf8)
    }
  }

  /// Forgets what was written.
  mutating func removeAll() { bytes.removeAll(keepingCapacity: bytes.capacity <= Self.spareLimit) }
}
