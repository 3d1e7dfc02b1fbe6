/// The status line and the header lines of an HTTP/1 response (RFC 9112 sections 4 and 5).
struct HTTPResponseHead: Equatable, Sendable {
  var status: Int
  /// The server's reason phrase: printable ASCII only, at most 64 characters; often empty.
  var phrase: String
  /// Names in lower case, values without surrounding white space, in the order of the lines.
  var headers: [HTTPHeader]

  /// Parses a head without its final empty line. Folded lines, spaces before the colon and control characters are
  /// refused.
  init(parsing bytes: some Collection<UInt8>) throws(UpstreamFailure) {
    var lines = bytes.split(separator: 10, omittingEmptySubsequences: false)[...]
    guard let first = lines.popFirst(), let (status, phrase) = Self.statusLine(Self.withoutReturn(first)) else {
      throw .notHTTP
    }
    self.status = status
    self.phrase = phrase
    headers = []
    for line in lines {
      let line = Self.withoutReturn(line)
      if line.isEmpty { continue }
      guard let header = Self.header(line) else { throw .malformedHead }
      headers.append(header)
    }
  }

  /// The values of a header, in order.
  func values(_ name: String) -> [String] { headers.filter { $0.name == name }.map(\.value) }

  /// The lower-case elements of a comma-separated header over all its lines.
  func elements(_ name: String) -> [String] {
    values(name).flatMap { $0.split(separator: ",") }.map { Self.trimmed($0.utf8).lowercased() }.filter { !$0.isEmpty }
  }

  /// The body's length by `Content-Length`; nil when there is none. A list of equal values counts once.
  func contentLength() throws(UpstreamFailure) -> Int? {
    var length: Int?
    for text in elements("content-length") {
      guard text.utf8.allSatisfy({ (48...57).contains($0) }), let value = Int(text) else { throw .malformedHead }
      if let length, length != value { throw .malformedHead }
      length = value
    }
    return length
  }

  private static func withoutReturn(_ line: some Collection<UInt8>) -> [UInt8] {
    var line = [UInt8](line)
    if line.last == 13 { line.removeLast() }
    return line
  }

  private static func statusLine(_ line: [UInt8]) -> (Int, String)? {
    guard line.starts(with: "HTTP/1.".utf8), line.count >= 12, line[8] == 32 else { return nil }
    guard line[7] == 48 || line[7] == 49, line.count == 12 || line[12] == 32 else { return nil }
    let digits = line[9..<12]
    guard digits.allSatisfy({ (48...57).contains($0) }) else { return nil }
    let status = digits.reduce(0) { $0 * 10 + Int($1 - 48) }
    guard status >= 100 else { return nil }
    let phrase = line.dropFirst(13).prefix(64).filter { (32..<127).contains($0) }
    return (status, String(decoding: phrase, as: UTF8.self))
  }

  private static func header(_ line: [UInt8]) -> HTTPHeader? {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0 else { return nil }
    let name = line[..<colon]
    guard name.allSatisfy(HTTPHeader.isTokenByte) else { return nil }
    let value = line[(colon + 1)...]
    guard value.allSatisfy({ $0 == 9 || ($0 >= 32 && $0 != 127) }) else { return nil }
    return HTTPHeader(name: String(decoding: name, as: UTF8.self).lowercased(), value: trimmed(value))
  }

  private static func trimmed(_ bytes: some Collection<UInt8>) -> String {
    let isBlank: (UInt8) -> Bool = { $0 == 32 || $0 == 9 }
    let front = [UInt8](bytes.drop(while: isBlank))
    return String(decoding: front.prefix((front.lastIndex { !isBlank($0) } ?? -1) + 1), as: UTF8.self)
  }
}

extension HTTPHeader {
  /// A byte of a header's name: RFC 9110 section 5.6.2, `token`.
  static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 48...57, 65...90, 97...122: true
    case 33, 35...39, 42, 43, 45, 46, 94...96, 124, 126: true
    default: false
    }
  }
}
