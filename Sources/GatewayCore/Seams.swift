/// The few places where the core meets the world. `gatewayd` implements them with Linux calls, the tests with fakes;
/// nothing else in the core does input or output, reads a clock or draws a random number.

/// A point on a clock that never runs backwards and goes on while the machine sleeps (`CLOCK_BOOTTIME`).
public struct MonotonicInstant: Comparable, Hashable, Sendable {
  /// Nanoseconds since an arbitrary origin.
  public var nanoseconds: Int64

  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  public static func < (a: Self, b: Self) -> Bool { a.nanoseconds < b.nanoseconds }
  /// A sum beyond the range stays at its end: a deadline of "never" is never in the past.
  public static func + (a: Self, b: Duration) -> Self {
    let (sum, overflow) = a.nanoseconds.addingReportingOverflow(b.nanoseconds)
    guard overflow else { return Self(nanoseconds: sum) }
    return Self(nanoseconds: a.nanoseconds < 0 ? .min : .max)
  }
  public static func - (a: Self, b: Self) -> Duration { .nanoseconds(a.nanoseconds &- b.nanoseconds) }
}

extension Duration {
  /// The whole duration in nanoseconds; durations beyond 292 years are clamped.
  public var nanoseconds: Int64 {
    let total = attoseconds
    let magnitude = total.magnitude
    let high = UInt64(truncatingIfNeeded: magnitude >> 64)
    // The general division of 128 bits takes some hundred instructions, and this is asked for with each deadline.
    let unit: UInt64 = 1_000_000_000
    guard high < unit else { return total < 0 ? .min : .max }
    let (quotient, _) = unit.dividingFullWidth((high, UInt64(truncatingIfNeeded: magnitude)))
    guard quotient <= Int64.max else { return total < 0 ? .min : .max }
    return total < 0 ? -Int64(quotient) : Int64(quotient)
  }

  /// The whole duration in milliseconds, rounded towards zero: the unit of the local protocol.
  public var milliseconds: Int64 { nanoseconds / 1_000_000 }
}

/// The clocks. In tests a clock that stands still until it is moved.
public protocol TimeSource: AnyObject {
  /// For deadlines and intervals.
  var now: MonotonicInstant { get }
  /// Milliseconds since 1970, for what people and programs read.
  var wallMilliseconds: Int64 { get }
  /// When what is being dealt with came in. May be as old as the present turn of the loop gets with one source, so that
  /// what came in one read does not ask the clocks for each of its parts.
  var arrival: Arrival { get }
}

/// One look at both clocks.
public struct Arrival: Equatable, Sendable {
  public var instant: MonotonicInstant
  /// Milliseconds since 1970.
  public var wallMilliseconds: Int64

  public init(instant: MonotonicInstant, wallMilliseconds: Int64) {
    self.instant = instant
    self.wallMilliseconds = wallMilliseconds
  }
}

extension TimeSource {
  /// For clocks that cost nothing.
  public var arrival: Arrival { Arrival(instant: now, wallMilliseconds: wallMilliseconds) }
}

/// Random numbers for back-off jitter and identifiers.
public protocol RandomSource: AnyObject {
  /// Sixty-four random bits.
  func bits() -> UInt64
}

extension RandomSource {
  /// Evenly distributed in 0 ..< 1.
  public func fraction() -> Double { Double(bits() >> 11) * 0x1p-53 }

  /// A random (version 4) UUID in lower case, RFC 9562 section 5.4.
  public func uuid() -> String {
    let high = bits() & 0xffff_ffff_ffff_0fff | 0x0000_0000_0000_4000
    let low = bits() & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for (index, shift) in stride(from: 60, through: 0, by: -4).enumerated() {
      if index == 8 || index == 12 { text.append(UInt8(ascii: "-")) }
      text.append(digits[Int(high >> UInt64(shift) & 15)])
    }
    for (index, shift) in stride(from: 60, through: 0, by: -4).enumerated() {
      if index == 0 || index == 4 { text.append(UInt8(ascii: "-")) }
      text.append(digits[Int(low >> UInt64(shift) & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }
}

/// Turns the text of a URL into a value. The daemon uses libcurl's URL interface.
public protocol URLReader: AnyObject {
  /// Throws `URLProblem` with a sentence that says what is wrong.
  func read(_ text: String) throws(URLProblem) -> UpstreamURL
}

/// A URL that cannot be used, and why, in one sentence for a person.
public struct URLProblem: Error, Equatable, Sendable {
  public var message: String
  public init(_ message: String) { self.message = message }
}

/// Reads secrets that live outside the configuration: files and the output of commands, at each connect.
public protocol CredentialReader: AnyObject {
  /// Calls back exactly once, possibly before returning, with at most `SecretSource.sizeLimit` bytes or with a sentence
  /// that says what is wrong and never contains the secret.
  func read(_ request: SecretRequest, _ done: @escaping (Result<[UInt8], CredentialProblem>) -> Void)
  /// Changes when the content of a file may have changed; nil for a file that is not there, and for a command. Cheap.
  func version(of source: SecretSource) -> SecretVersion?
}

/// Credentials that could not be obtained, and why, in one sentence for a person.
public struct CredentialProblem: Error, Equatable, Sendable {
  public var message: String
  public init(_ message: String) { self.message = message }
}

/// Dials transports to servers.
public protocol TransportDialer: AnyObject {
  /// Starts one attempt. `receiver` hears `transportOpened` at most once and `transportClosed` exactly once, never
  /// before this method has returned, and nothing after `transportClosed` or after `Transport.close()`.
  func dial(_ request: DialRequest, receiver: any TransportReceiver) -> any Transport
  /// The host that a request would connect to first, a name or an address: the server's, or that of the proxy before it.
  func firstHost(of request: DialRequest) -> String
}

extension TransportDialer {
  /// For dialers that know no proxies.
  public func firstHost(of request: DialRequest) -> String { request.host }
}

/// A message pipe to a server: a WebSocket, or long-polling. One message in is one message out at the other end, in order.
public protocol Transport: AnyObject {
  /// Queues one text message. Never blocks; bytes that the socket does not take now are kept.
  func send(text: RawSpan)
  /// Queues one binary message.
  func send(binary: RawSpan)
  /// The same, for a sender who knows that compressing is not worth the trouble: with `compress: false` the message
  /// leaves as it is. Transports that compress nothing need no implementation of their own.
  func send(text: RawSpan, compress: Bool)
  func send(binary: RawSpan, compress: Bool)
  /// The same for one long text in two parts. A transport that can keep `body` as it is, and work on it piece by piece,
  /// should.
  func send(text head: RawSpan, body: ArraySlice<UInt8>, compress: Bool)
  /// Queues a text message that no program asked for: an answer that the server demands, or a sign of life. Where the server
  /// does not take `answerLimit` bytes of them, the transport ends with `UpstreamFailure.unreadAnswers`.
  func send(control text: RawSpan)
  /// Bytes accepted by `send` that the kernel has not taken yet.
  var unsentBytes: Int { get }
  /// Whether the kernel refused bytes the last time they were offered, so that what is written now waits behind them.
  var isCongested: Bool { get }
  /// Asks the peer for a sign of life; the receiver hears `transportAnsweredProbe` when it comes. A probe replaces one
  /// that is unanswered: only the last one's answer is told. False: this transport cannot ask now.
  func probe() -> Bool
  /// Says goodbye if the transport is open, then lets go of everything. The receiver hears nothing more.
  func close()
}

extension Transport {
  public func send(text: RawSpan, compress: Bool) { send(text: text) }
  public func send(binary: RawSpan, compress: Bool) { send(binary: binary) }
  public func send(text head: RawSpan, body: ArraySlice<UInt8>, compress: Bool) {
    var text: [UInt8] = []
    text.reserveCapacity(head.byteCount + body.count)
    text.append(head)
    text += body
    send(text: text.span.bytes, compress: compress)
  }
  /// For a transport whose peer is heard of often enough by itself.
  public func probe() -> Bool { false }
}

/// Who is told what happens on a transport. Spans are valid only during the call.
public protocol TransportReceiver: AnyObject {
  /// `headers` are those of the server's answer to the opening request, names in lower case; they may hold secrets.
  func transportOpened(_ facts: TransportFacts, headers: [HTTPHeader])
  func transportNoticed(_ notice: TransportNotice)
  func transportReceived(text: RawSpan)
  func transportReceived(binary: RawSpan)
  /// What one look at the server brought, or the next part of it, for a receiver that would otherwise ask for each message
  /// what is the same for all of them.
  func transportReceived(_ messages: any IncomingMessages)
  /// A long text message is coming, and this much of it has come: what can be found out about it now need not be found out
  /// at once when it is there. It may never be complete.
  func transportGathers(text: RawSpan)
  /// The same for a long binary message.
  func transportGathers(binary: RawSpan)
  /// The peer answered the last `probe()`.
  func transportAnsweredProbe()
  /// The end, by the peer or by a failure. Nothing follows.
  func transportClosed(_ failure: TransportFailure)
}

extension TransportReceiver {
  /// A WebSocket stays one.
  public func transportNoticed(_ notice: TransportNotice) {}
  /// One after the other.
  public func transportReceived(_ messages: any IncomingMessages) {
    messages.forEach { kind, body in
      switch kind {
      case .text: transportReceived(text: body)
      case .binary: transportReceived(binary: body)
      }
    }
  }
  /// For receivers that look at whole messages.
  public func transportGathers(text: RawSpan) {}
  public func transportGathers(binary: RawSpan) {}
  /// For receivers that never ask.
  public func transportAnsweredProbe() {}
}

/// The messages of one look at a server, as long as they lie in the transport's memory.
public protocol IncomingMessages {
  /// Hands them out in order. To be called once for each of these objects; until then even pings are not answered. When
  /// others are waiting it stops, and those that are left come later, as another object. The transport may be closed
  /// meanwhile: then they are dropped.
  func forEach(_ body: (MessageKind, RawSpan) -> Void)
}

/// Makes single HTTP exchanges. The daemon uses libcurl, which keeps connections open between them.
public protocol HTTPRequester: AnyObject {
  /// Starts one exchange. `done` is called exactly once, later, unless the exchange is cancelled before.
  func start(
    _ request: HTTPRequest, _ done: @escaping (Result<HTTPResponse, UpstreamFailure>) -> Void
  ) -> any HTTPExchange
}

/// One HTTP exchange under way. Letting go of it does not end it.
public protocol HTTPExchange: AnyObject {
  /// Ends it; `done` is not called any more.
  func cancel()
}
