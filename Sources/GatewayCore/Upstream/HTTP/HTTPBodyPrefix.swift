/// Collects the beginning of an HTTP/1 response body, whichever way its end is marked (RFC 9112 section 6.3).
struct HTTPBodyPrefix: Equatable, Sendable {
  /// How the end of the body is known, and what is still to come.
  private enum Framing: Equatable {
    case length(left: Int)
    case untilClose
    /// In a chunk-size line; `size` so far, `ignoring` behind a `;` or at the line feed.
    case chunkSize(size: Int, ignoring: Bool)
    case chunkData(left: Int)
    /// The line end behind a chunk's data.
    case chunkEnd
    case ended
  }

  /// What was collected.
  private(set) var bytes: [UInt8] = []
  private var framing: Framing
  private let limit: Int

  /// A body that `head` announces, of which at most `limit` bytes are kept.
  init(of head: HTTPResponseHead, limit: Int) throws(UpstreamFailure) {
    self.limit = limit
    let length = try head.contentLength()
    if head.status < 200 || head.status == 204 || head.status == 304 {
      framing = .ended
    } else if let coding = head.elements("transfer-encoding").last {
      framing = coding == "chunked" ? .chunkSize(size: 0, ignoring: false) : .untilClose
    } else if let length {
      framing = length == 0 ? .ended : .length(left: length)
    } else {
      framing = .untilClose
    }
  }

  /// Whether nothing more is wanted: the body is at its end, at the limit, or malformed.
  var isComplete: Bool { framing == .ended || bytes.count >= limit }

  /// Takes what follows.
  mutating func append(_ more: some Collection<UInt8>) {
    for byte in more where !isComplete { append(byte) }
  }

  private mutating func append(_ byte: UInt8) {
    switch framing {
    case .ended: return
    case .untilClose: bytes.append(byte)
    case .length(let left):
      bytes.append(byte)
      framing = left > 1 ? .length(left: left - 1) : .ended
    case .chunkSize(let size, let ignoring):
      framing = Self.afterSizeByte(byte, size: size, ignoring: ignoring)
    case .chunkData(let left):
      bytes.append(byte)
      framing = left > 1 ? .chunkData(left: left - 1) : .chunkEnd
    case .chunkEnd:
      if byte == 10 { framing = .chunkSize(size: 0, ignoring: false) } else if byte != 13 { framing = .ended }
    }
  }

  private static func afterSizeByte(_ byte: UInt8, size: Int, ignoring: Bool) -> Framing {
    if byte == 10 { return size > 0 ? .chunkData(left: size) : .ended }
    if ignoring || byte == 13 || byte == 32 || byte == UInt8(ascii: ";") {
      return .chunkSize(size: size, ignoring: true)
    }
    guard let digit = Character(UnicodeScalar(byte)).hexDigitValue, size < 1 << 28 else { return .ended }
    return .chunkSize(size: size * 16 + digit, ignoring: false)
  }
}
