extension RawSpan {
  /// Whether all of it is UTF-8 (RFC 3629). Most texts are ASCII, which is seen 64 bytes at a time.
  public var isUTF8: Bool {
    if isASCII { return true }
    return withUnsafeBytes { bytes in
      bytes.withMemoryRebound(to: UInt8.self) { (try? UTF8Span(validating: $0.span)) != nil }
    }
  }

  /// Where the last character ends that is sure to be complete; nothing is said about what stands before it.
  public var endOfCharacters: Int {
    for back in 1...3 where back <= byteCount {
      let byte = unsafeLoad(fromUncheckedByteOffset: byteCount &- back, as: UInt8.self)
      if byte < 0x80 { return byteCount }
      if byte >= 0xc0 { return byteCount &- back }
    }
    return byteCount
  }

  /// What is left behind the last whole block is looked at together with bytes before it.
  @inline(__always)
  private var isASCII: Bool {
    let count = byteCount
    guard count >= 64 else { return isShortASCII }
    var at = 0
    var seen = SIMD8<UInt64>.zero
    while at &+ 64 <= count {
      seen |= unsafeLoadUnaligned(fromUncheckedByteOffset: at, as: SIMD8<UInt64>.self)
      at &+= 64
    }
    seen |= unsafeLoadUnaligned(fromUncheckedByteOffset: count &- 64, as: SIMD8<UInt64>.self)
    let half = seen.lowHalf | seen.highHalf
    return (half[0] | half[1] | half[2] | half[3]) & 0x8080_8080_8080_8080 == 0
  }

  private var isShortASCII: Bool {
    var word: UInt64 = 0
    var at = 0
    while at &+ 8 <= byteCount {
      word |= unsafeLoadUnaligned(fromUncheckedByteOffset: at, as: UInt64.self)
      at &+= 8
    }
    while at < byteCount {
      word |= UInt64(unsafeLoad(fromUncheckedByteOffset: at, as: UInt8.self))
      at &+= 1
    }
    return word & 0x8080_8080_8080_8080 == 0
  }
}

extension UInt8 {
  /// A letter or digit of ASCII.
  var isASCIILetterOrDigit: Bool {
    (0x30...0x39).contains(self) || (0x41...0x5a).contains(self) || (0x61...0x7a).contains(self)
  }
}
