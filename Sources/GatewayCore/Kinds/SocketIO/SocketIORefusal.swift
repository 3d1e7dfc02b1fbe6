/// What a server said when it refused or ended a namespace. Node 3 and later send `{"message":…,"data":…}`, Node 2 a
/// string or the data alone, whatever that is, Python 4 an array of message and data, Python 5 any of them; and some
/// say nothing.
struct SocketIORefusal: Equatable, Sendable {
  /// Without control characters.
  var message: String?
  /// Raw JSON text in one line.
  var data: [UInt8]?

  /// Longest message that is kept, in bytes.
  private static let messageLimit = 200

  init(message: String? = nil, data: [UInt8]? = nil) {
    self.message = message
    self.data = data
  }

  /// Reads a validated JSON value of any kind. `elements` are the first of a long one.
  init(_ text: RawSpan, _ range: Range<Int>, _ elements: [JSONProgress.Element]? = nil) {
    switch JSONScanner.byte(text, range.lowerBound) {
    case UInt8(ascii: "\""): message = Self.message(text, range)
    case UInt8(ascii: "{"): readObject(text, range, elements)
    case UInt8(ascii: "["): readArray(text, range, elements)
    case UInt8(ascii: "n"): break
    default: data = Self.data(text, range)
    }
  }

  /// As the end of a channel.
  func failure(_ reason: DownReason, _ namespace: [UInt8]) -> UpstreamFailure {
    let name = Self.shown(namespace)
    var detail =
      reason == .kicked ? "the server disconnected the namespace \(name)" : "the server refused the namespace \(name)"
    if let words, !words.isEmpty { detail += ": " + words }
    return UpstreamFailure(reason, detail, serverMessage: message, serverData: data)
  }

  /// The server's message; where it sent data alone, as servers of Socket.IO 2 do with an object, that.
  private var words: String? {
    message ?? data.map { String(shortening: $0.span.bytes, to: Self.messageLimit).singleLine }
  }

  /// Without what may be secret in it: old servers take credentials as the query of a namespace.
  private static func shown(_ namespace: [UInt8]) -> String {
    guard !namespace.isEmpty else { return "/" }
    let bare = namespace.prefix { $0 != UInt8(ascii: "?") }
    let name = String(shortening: bare.span.bytes, to: 100).singleLine
    return bare.count < namespace.count ? name + "?***" : name
  }

  private mutating func readObject(_ text: RawSpan, _ range: Range<Int>, _ elements: [JSONProgress.Element]?) {
    var message: Range<Int>?
    var data: Range<Int>?
    for element in elements ?? [] {
      guard let key = element.key else { continue }
      if JSONScanner.stringEquals(text, key, "message") { message = element.value }
      if JSONScanner.stringEquals(text, key, "data") { data = element.value }
    }
    if elements == nil {
      var at = range.lowerBound
      try? JSONScanner.scanObject(text, &at) { key, value throws(JSONError) in
        if JSONScanner.stringEquals(text, key, "message") { message = value }
        if JSONScanner.stringEquals(text, key, "data") { data = value }
      }
    }
    guard let message, JSONScanner.byte(text, message.lowerBound) == UInt8(ascii: "\"") else {
      self.data = Self.data(text, range)
      return
    }
    self.message = Self.message(text, message)
    self.data = data.flatMap { Self.data(text, $0) }
  }

  private mutating func readArray(_ text: RawSpan, _ range: Range<Int>, _ known: [JSONProgress.Element]?) {
    var elements = known?.prefix(3).map(\.value) ?? []
    if known == nil {
      var at = range.lowerBound
      try? JSONScanner.scanArray(text, &at) { element throws(JSONError) in
        if elements.count < 3 { elements.append(element) }
      }
    }
    guard let first = elements.first, JSONScanner.byte(text, first.lowerBound) == UInt8(ascii: "\""),
      elements.count < 3
    else {
      data = Self.data(text, range)
      return
    }
    message = Self.message(text, first)
    data = elements.dropFirst().first.flatMap { Self.data(text, $0) }
  }

  private static func message(_ text: RawSpan, _ range: Range<Int>) -> String {
    JSONScanner.decodeString(text, range, shortenedTo: messageLimit).singleLine
  }

  private static func data(_ text: RawSpan, _ range: Range<Int>) -> [UInt8]? {
    guard range.count <= UpstreamFailure.dataLimit else { return nil }
    return text.extracting(range).withUnsafeBytes { $0.map { $0 == 10 || $0 == 13 ? 32 : $0 } }
  }
}
