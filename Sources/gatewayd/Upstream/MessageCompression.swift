import GatewayCore
import Glibc

/// Compression of one link's messages, as client and server agreed (RFC 7692 section 7.2). Decision 0016.
final class MessageCompression {
  enum Expansion {
    /// Valid until the next message of any link is expanded.
    case message(UnsafeRawBufferPointer)
    /// So much of the message, valid until `goOn()`; there is more.
    case part(UnsafeRawBufferPointer)
    case tooLarge
    case garbage
    /// There is no room for the rest of it.
    case noMemory
  }

  private let agreed: MessageDeflate
  private let threshold: Int
  private let contexts: CompressionContexts
  /// Only for a server whose messages refer to its earlier ones; made with the first of them.
  private var ownInflater: Zlib.Inflater?

  /// A message that is expanded in more than one portion.
  private struct Unfinished {
    let inflater: Zlib.Inflater
    let output: GrowingBuffer
    let limit: Int
    /// What was not read yet of the compressed form.
    var rest: ArraySlice<UInt8>
    /// How many bytes of the message there are.
    var count: Int
  }

  /// Most bytes that are inflated before it is looked at the clock.
  static let portion = 256 << 10

  private var unfinished: Unfinished? {
    didSet { if unfinished == nil { memory?.set(0) } }
  }
  /// What such a message counts of the memory for beginnings of messages; nil where nothing is counted.
  private let memory: MemoryHold?
  /// Holds the message that took more than one portion until it is not needed any more.
  private var expanded: GrowingBuffer?
  /// The last message is not complete: `goOn()` is due before another is expanded.
  var isExpanding: Bool { unfinished != nil }

  /// `threshold`: smaller messages leave as they are, in bytes. `memory`: what messages count that are expanded in
  /// portions.
  init(_ agreed: MessageDeflate, threshold: Int, contexts: CompressionContexts, memory: MemoryHold? = nil) {
    self.memory = memory
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
    let (inflater, output) = (inflater(), contexts.inflated)
    switch inflater.inflate(payload, limit: limit, into: output, portion: Self.portion) {
    case .done(let count): return .message(UnsafeRawBufferPointer(rebasing: output.bytes[..<count]))
    case .part(let count, let unread):
      contexts.leaveInflater(inflater)
      unfinished = Unfinished(
        inflater: inflater, output: output, limit: limit, rest: [UInt8](payload.suffix(unread))[...], count: count)
      guard isCounted() else { return .noMemory }
      return .part(UnsafeRawBufferPointer(rebasing: output.bytes[..<count]))
    case .tooLarge: return .tooLarge
    case .garbage: return .garbage
    }
  }

  /// The next portion of the message of which `expand` has given a part.
  func goOn() -> Expansion {
    guard let now = unfinished else { return .garbage }
    let outcome = now.rest.withUnsafeBytes {
      now.inflater.inflate($0, limit: now.limit, into: now.output, behind: now.count, portion: Self.portion)
    }
    switch outcome {
    case .part(let count, let unread):
      unfinished?.rest = now.rest.suffix(unread)
      unfinished?.count = count
      guard isCounted() else { return .noMemory }
      return .part(UnsafeRawBufferPointer(rebasing: now.output.bytes[..<count]))
    case .done(let count):
      expanded = now.output
      unfinished = nil
      return .message(UnsafeRawBufferPointer(rebasing: now.output.bytes[..<count]))
    case .tooLarge, .garbage:
      unfinished = nil
      return outcome == .tooLarge ? .tooLarge : .garbage
    }
  }

  /// Counts what there is of the message, in both forms. False, and the message is given up, where there is no room.
  private func isCounted() -> Bool {
    guard let memory, let now = unfinished else { return true }
    if memory.change(to: now.count + now.rest.count) { return true }
    unfinished = nil
    return false
  }

  /// The result of `compress` is not needed any more. That of `expand` may be: messages are answered while they are
  /// read.
  func releaseDeflated() { contexts.deflated.shrink() }

  /// The result of `expand` is not needed any more.
  func releaseInflated() {
    expanded = nil
    contexts.inflated.shrink()
  }

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

/// What all compressed links of one loop share: zlib's contexts, made when a first message needs them and used for one
/// whole message at a time, and the memory that its result stands in.
final class CompressionContexts {
  /// Where the last inflated message stands.
  private(set) var inflated = GrowingBuffer()
  /// Where the last deflated message stands.
  let deflated = GrowingBuffer()
  /// For servers whose messages refer to no earlier ones.
  private(set) lazy var inflater = Zlib.Inflater()

  /// A message takes several turns: others get a context and a buffer of their own meanwhile, where it uses these.
  func leaveInflater(_ used: Zlib.Inflater) {
    inflated = GrowingBuffer()
    if used === inflater { inflater = Zlib.Inflater() }
  }

  private var deflaters: [Int: Zlib.Deflater] = [:]

  /// The one context for windows of this size. Nil for a size that zlib does not have.
  func deflater(windowBits: Int) -> Zlib.Deflater? {
    if let deflater = deflaters[windowBits] { return deflater }
    guard Zlib.Deflater.windowBits.contains(windowBits) else { return nil }
    let deflater = Zlib.Deflater(windowBits: windowBits)
    deflaters[windowBits] = deflater
    return deflater
  }
}

/// Memory for one message at a time: taken when it is first needed, grown for a large message, and given back after it.
final class GrowingBuffer {
  /// What is kept between messages, in bytes.
  static let keptCount = 64 << 10
  private static let growth = BufferGrowth(longFrom: keptCount, hugeFrom: 512 << 10)

  private(set) var bytes = UnsafeMutableRawBufferPointer(start: nil, count: 0)

  deinit { free(bytes.baseAddress) }

  /// At least `count` bytes; what was in it is lost.
  func reserve(_ count: Int) {
    guard bytes.count < count else { return }
    free(bytes.baseAddress)
    bytes = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    resize(max(count, Self.keptCount))
  }

  /// More bytes, with what was in it, as `BufferGrowth` has it; not beyond `limit` unless it is below what is kept
  /// anyway.
  func grow(atMost limit: Int) {
    let count = Self.growth.capacity(for: bytes.count + 1, over: bytes.count, limit: limit) ?? bytes.count * 2
    resize(max(Self.keptCount, min(count, limit)))
  }

  /// Gives back what is not kept.
  func shrink() {
    guard bytes.count > Self.keptCount else { return }
    free(bytes.baseAddress)
    bytes = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  }

  private func resize(_ count: Int) {
    guard let larger = realloc(bytes.baseAddress, count) else { fatalError("out of memory") }
    bytes = UnsafeMutableRawBufferPointer(start: larger, count: count)
  }
}
