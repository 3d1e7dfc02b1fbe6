/// Appends MessagePack values to bytes, each head as short as it can be. MessagePack specification, section "Formats".
struct MsgpackOutput: Sendable {
  var bytes: [UInt8] = []

  mutating func null() { bytes.append(0xc0) }
  mutating func bool(_ value: Bool) { bytes.append(value ? 0xc3 : 0xc2) }

  mutating func integer(_ value: Int64) {
    switch value {
    case 0...: unsigned(UInt64(value))
    case (-0x20)...: bytes.append(UInt8(truncatingIfNeeded: value))
    case Int64(Int8.min)...: head(0xd0, UInt64(truncatingIfNeeded: value), width: 1)
    case Int64(Int16.min)...: head(0xd1, UInt64(truncatingIfNeeded: value), width: 2)
    case Int64(Int32.min)...: head(0xd2, UInt64(truncatingIfNeeded: value), width: 4)
    default: head(0xd3, UInt64(truncatingIfNeeded: value), width: 8)
    }
  }

  mutating func unsigned(_ value: UInt64) {
    switch value {
    case ...0x7f: bytes.append(UInt8(value))
    case ...0xff: head(0xcc, value, width: 1)
    case ...0xffff: head(0xcd, value, width: 2)
    case ...0xffff_ffff: head(0xce, value, width: 4)
    default: head(0xcf, value, width: 8)
    }
  }

  mutating func float(_ value: Double) { head(0xcb, value.bitPattern, width: 8) }

  /// UTF-8.
  mutating func string(_ text: RawSpan) {
    let count = text.byteCount
    switch count {
    case ...31: bytes.append(0xa0 | UInt8(count))
    case ...0xff: head(0xd9, UInt64(count), width: 1)
    case ...0xffff: head(0xda, UInt64(count), width: 2)
    default: head(0xdb, UInt64(count), width: 4)
    }
    bytes.append(text)
  }

  mutating func binary(_ data: RawSpan) {
    let count = data.byteCount
    switch count {
    case ...0xff: head(0xc4, UInt64(count), width: 1)
    case ...0xffff: head(0xc5, UInt64(count), width: 2)
    default: head(0xc6, UInt64(count), width: 4)
    }
    bytes.append(data)
  }

  /// The head of an array; its values have to follow.
  mutating func array(_ count: Int) {
    switch count {
    case ...15: bytes.append(0x90 | UInt8(count))
    case ...0xffff: head(0xdc, UInt64(count), width: 2)
    default: head(0xdd, UInt64(count), width: 4)
    }
  }

  /// The head of a map; its keys and values have to follow in turn.
  mutating func map(_ count: Int) {
    switch count {
    case ...15: bytes.append(0x80 | UInt8(count))
    case ...0xffff: head(0xde, UInt64(count), width: 2)
    default: head(0xdf, UInt64(count), width: 4)
    }
  }

  private mutating func head(_ first: UInt8, _ value: UInt64, width: Int) {
    bytes.append(first)
    for index in (0..<width).reversed() { bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * index))) }
  }
}
