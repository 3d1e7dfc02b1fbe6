/// What client and server agreed on for compressed messages: the extension `permessage-deflate` (RFC 7692 section 7).
///
/// Our own messages never refer to earlier ones, whatever was agreed, because a sender may always do without; the
/// server is asked to do the same. With a server that does, one context for each direction serves every link.
public struct MessageDeflate: Equatable, Sendable {
  /// The server's messages may refer to its earlier ones on the same link, so that the link needs a context of its own.
  public var serverKeepsContext: Bool
  /// Base-2 logarithm of the largest window that we may compress with, 8 to 15.
  public var clientWindowBits: Int

  init(serverKeepsContext: Bool = false, clientWindowBits: Int = 15) {
    self.serverKeepsContext = serverKeepsContext
    self.clientWindowBits = clientWindowBits
  }

  /// What a client asks for, as the value of `Sec-WebSocket-Extensions`.
  static let offer =
    "permessage-deflate; client_no_context_takeover; server_no_context_takeover; client_max_window_bits"

  /// Reads the server's answer, one extension with its parameters in lower case (section 7.1). Nil where the server
  /// agreed to something that was not offered: for unknown and repeated parameters and values out of range.
  init?(answer: String) {
    self.init(serverKeepsContext: true)
    let parts = answer.split(separator: ";", omittingEmptySubsequences: false).map(Self.trimmed)
    guard parts.first == "permessage-deflate" else { return nil }
    var seen: Set<String> = []
    for part in parts.dropFirst() {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(Self.trimmed)
      guard seen.insert(pair[0]).inserted else { return nil }
      switch (pair[0], pair.count) {
      case ("server_no_context_takeover", 1): serverKeepsContext = false
      case ("client_no_context_takeover", 1): break
      // A larger window of ours reads what a smaller one wrote.
      case ("server_max_window_bits", 2): guard Self.windowBits(pair[1]) != nil else { return nil }
      case ("client_max_window_bits", 2):
        guard let bits = Self.windowBits(pair[1]) else { return nil }
        clientWindowBits = bits
      default: return nil
      }
    }
  }

  /// A number from 8 to 15 without leading zeros, bare or in quotes; nil for anything else.
  private static func windowBits(_ text: String) -> Int? {
    let isQuoted = text.count >= 2 && text.hasPrefix("\"") && text.hasSuffix("\"")
    let digits = isQuoted ? String(text.dropFirst().dropLast()) : text
    guard let bits = Int(digits), (8...15).contains(bits), digits == "\(bits)" else { return nil }
    return bits
  }

  private static func trimmed(_ text: Substring) -> String {
    let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    let front = text.drop(while: isBlank)
    return String(
      front.prefix(front.lastIndex { !isBlank($0) }.map { front.distance(from: front.startIndex, to: $0) + 1 } ?? 0))
  }
}
