import Glibc

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
