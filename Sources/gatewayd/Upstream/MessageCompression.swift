import GatewayCore

/// Compression of one link's messages, as client and server agreed (RFC 7692 section 7.2).
final class MessageCompression {
  enum Expansion {
    /// Valid until the next message of any link is expanded.
    case message(UnsafeRawBufferPointer)
    case tooLarge
    case garbage
  }

  private let agreed: MessageDeflate
  private let threshold: Int
  private let contexts: CompressionContexts
  /// Only for a server whose messages refer to its earlier ones; made with the first of them.
  private var ownInflater: Zlib.Inflater?

  /// `threshold`: smaller messages leave as they are, in bytes.
  init(_ agreed: MessageDeflate, threshold: Int, contexts: CompressionContexts) {
    self.agreed = agreed
    self.threshold = threshold
    self.contexts = contexts
  }

  /// The compressed form, valid until the next call for any link. Nil when the message is better sent as it is.
  func compress(_ message: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    guard message.count >= threshold, let deflater = contexts.deflater(windowBits: agreed.clientWindowBits) else {
      return nil
    }
    contexts.deflated.reserve(message.count + Zlib.Deflater.roomBeyond)
    guard let count = deflater.deflate(message, into: contexts.deflated.bytes) else { return nil }
    return UnsafeRawBufferPointer(rebasing: contexts.deflated.bytes[..<count])
  }

  /// The message that a payload stands for, of at most `limit` bytes. A payload without a single byte stands for an
  /// empty message, as some servers write it.
  func expand(_ payload: UnsafeRawBufferPointer, limit: Int) -> Expansion {
    guard !payload.isEmpty else { return .message(payload) }
    switch inflater().inflate(payload, limit: limit, into: contexts.inflated) {
    case .done(let count): return .message(UnsafeRawBufferPointer(rebasing: contexts.inflated.bytes[..<count]))
    case .tooLarge: return .tooLarge
    case .garbage: return .garbage
    }
  }

  /// The result of `compress` is not needed any more. That of `expand` may be: messages are answered while they are read.
  func releaseDeflated() { contexts.deflated.shrink() }

  /// The result of `expand` is not needed any more.
  func releaseInflated() { contexts.inflated.shrink() }

  private func inflater() -> Zlib.Inflater {
    guard agreed.serverKeepsContext else {
      contexts.inflater.reset()
      return contexts.inflater
    }
    if let ownInflater { return ownInflater }
    let inflater = Zlib.Inflater()
    ownInflater = inflater
    return inflater
  }
}
