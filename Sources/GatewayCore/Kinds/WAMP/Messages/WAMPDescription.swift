/// What a message is, in words for the observers of a connection. Payloads are counted and not shown.
enum WAMPDescription {
  /// A message of the router. `name` is what its id stands for, where that is known.
  static func received(_ message: WAMPMessage, name: String?, _ text: RawSpan) -> String {
    let word = message.code.word
    switch message {
    case .welcome(let session, _): return "\(word) session \(session)"
    case .abort(let details, let reason), .goodbye(let details, let reason):
      let said = WAMPDetails.words("message", in: text, details, limit: 200).map { ": \($0)" } ?? ""
      return "\(word) \(uri(reason, text))\(said)"
    case .challenge(let method, _): return "\(word) \(uri(method, text))"
    case .error(let type, let request, let uri, let payload):
      return "\(word) \(self.uri(uri, text)) for \(type.word) \(request) (\(self.payload(payload, text)))"
    case .published(let request, let publication): return "\(word) \(request) as publication \(publication)"
    case .subscribed(let request, let id), .registered(let request, let id):
      return "\(word) \(name ?? "request \(request)") as \(id)"
    case .unsubscribed(let request), .unregistered(let request): return "\(word) \(name ?? "request \(request)")"
    case .subscriptionRevoked, .registrationRevoked: return "\(word) \(name ?? "?") by the router"
    case .event(_, _, _, let payload): return "\(word) \(name ?? "?") (\(self.payload(payload, text)))"
    case .result(let request, let details, let payload):
      let isProgress = WAMPDetails.isTrue("progress", in: text, details)
      return "\(word) \(request)\(isProgress ? ", in progress" : "") (\(self.payload(payload, text)))"
    case .invocation(let request, _, _, let payload):
      return "\(word) \(request) of \(name ?? "?") (\(self.payload(payload, text)))"
    case .interrupt(let request): return "\(word) \(request)"
    }
  }

  /// `2 args, 1 kwarg, 58 bytes`.
  private static func payload(_ payload: WAMPPayload, _ text: RawSpan) -> String {
    var parts: [String] = []
    let args = payload.arguments.map { count($0, text) } ?? 0
    parts.append(args == 1 ? "1 arg" : "\(args) args")
    if let keywords = payload.keywords {
      let count = count(keywords, text)
      if count > 0 { parts.append(count == 1 ? "1 kwarg" : "\(count) kwargs") }
    }
    parts.append("\(payload.byteCount) bytes")
    return parts.joined(separator: ", ")
  }

  /// How many elements or members a scanned array or object has.
  private static func count(_ range: Range<Int>, _ text: RawSpan) -> Int {
    var count = 0
    var at = range.lowerBound
    do {
      if JSONScanner.byte(text, at) == UInt8(ascii: "[") {
        try JSONScanner.scanArray(text, &at) { _ in count += 1 }
      } else {
        try JSONScanner.scanObject(text, &at) { _, _ in count += 1 }
      }
    } catch { return count }
    return count
  }

  private static func uri(_ range: Range<Int>, _ text: RawSpan) -> String {
    JSONScanner.decodeString(text, range, shortenedTo: 200).singleLine
  }
}
