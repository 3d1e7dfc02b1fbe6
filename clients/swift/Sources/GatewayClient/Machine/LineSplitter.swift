/// Finds the lines in bytes that come in pieces.
struct LineSplitter: Sendable {
  private var rest: [UInt8] = []

  /// Bytes of a line that has begun and not ended.
  var unfinished: Int { rest.count }

  /// Adds the lines that end in these bytes, without their ends.
  mutating func take(_ bytes: some RandomAccessCollection<UInt8>, into lines: inout [[UInt8]]) {
    var bytes = bytes[...]
    while let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
      lines.append(rest + bytes[..<end])
      rest.removeAll(keepingCapacity: true)
      bytes = bytes[bytes.index(after: end)...]
    }
    rest += bytes
  }
}
