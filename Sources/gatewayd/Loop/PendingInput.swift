import Glibc

/// Bytes that were received and wait for their reader's next turn.
struct PendingInput {
  private var bytes: [UInt8] = []
  private var heard = 0

  init() {}

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var isEmpty: Bool { bytes.isEmpty }

  /// Lets `body` have what is left; it is valid during the call. Returns what `body` returns.
  func withRest<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[heard...])) }
  }

  /// Only the last so many bytes are left, not more than there were.
  mutating func keepLast(_ count: Int) {
    if count == 0 { self = PendingInput() } else { heard = bytes.count - count }
  }
}

extension Slice<UnsafeRawBufferPointer> {
  /// Takes off what there is up to and with the first line end, or everything; nil when there is nothing.
  mutating func cutLine() -> UnsafeRawBufferPointer? {
    let whole = UnsafeRawBufferPointer(rebasing: self)
    guard let start = whole.baseAddress, !whole.isEmpty else { return nil }
    let length = memchr(start, 0x0a, whole.count).map { UnsafeRawPointer($0) - start + 1 } ?? whole.count
    self = self[(startIndex + length)...]
    return UnsafeRawBufferPointer(rebasing: whole[..<length])
  }
}
