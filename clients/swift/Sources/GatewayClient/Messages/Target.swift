/// Which upstream a call is about: a URL, or the name of an upstream in the daemon's configuration.
///
/// ```swift
/// let chat: Target = "https://chat.example"
/// let admin = Target("https://chat.example", namespace: "/admin", auth: ["token": "…"])
/// ```
public struct Target: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// With `://` in it a URL, otherwise a name.
  public let address: String
  /// Socket.IO: the namespace, where a URL has none as its path.
  public let namespace: String?
  /// With a URL: an object that goes into the CONNECT packet. No description shows it.
  public let auth: JSON?
  /// With a URL that the daemon's configuration does not have: an object with any of `path`, `headers`, `query`, and
  /// `tls` with `ca` (PEM text) and `verify`. No description shows it.
  public let options: JSON?

  public init(_ address: String, namespace: String? = nil, auth: JSON? = nil, options: JSON? = nil) {
    self.address = address
    self.namespace = namespace
    self.auth = auth
    self.options = options
  }

  public init(stringLiteral value: String) { self.init(value) }

  public var description: String { address + (namespace.map { " \($0)" } ?? "") }

  /// As members of `params`.
  var params: Params {
    var params = Params()
    params[address.contains("://") ? "url" : "upstream"] = .string(address)
    params["namespace"] = namespace.map { .string($0) }
    params["auth"] = auth
    params["options"] = options
    return params
  }
}

/// The params of a call, as the text of an object.
struct Params: Sendable, Equatable {
  /// The members, without the braces.
  private var members: [UInt8] = []
  /// Where the text of `args` stands among them, and where its member begins.
  private var args: (member: Int, text: Range<Int>)?

  static func == (a: Params, b: Params) -> Bool { a.members == b.members }

  /// Adds a member; nothing where the value is nil.
  subscript(key: String) -> JSON? {
    get { nil }
    set { if let newValue { add(key, JSONWriter.text(of: newValue, form: .plain)) } }
  }

  /// Adds a member whose value is a text of JSON already.
  mutating func add(_ key: String, _ text: [UInt8]?) {
    guard let text else { return }
    let start = members.count
    if !members.isEmpty { members.append(UInt8(ascii: ",")) }
    JSONWriter.write(key, to: &members)
    members.append(UInt8(ascii: ":"))
    if key == "args" { args = (start, members.count..<members.count + text.count) }
    members += text
  }

  /// Adds members that are there already as an object.
  mutating func add(contentsOf object: [JSON.Member]) {
    for member in object { self[member.key] = member.value }
  }

  var text: [UInt8] { [UInt8(ascii: "{")] + members + [UInt8(ascii: "}")] }

  /// Most bytes of one part of a message, as the protocol has it.
  private static let partLimit = 128 << 10
  /// What a line has around the params and its part, at most.
  private static let allowance = 512

  /// The params of the calls that one becomes which is longer than a line: each brings a piece of the text of `args`.
  /// Nil where there are none, or the others are too long.
  func parts(id: Int, lineLimit: Int) -> [[UInt8]]? {
    guard let args else { return nil }
    let others = members[..<args.member] + members[args.text.upperBound...]
    let opening = Array("{".utf8) + others.drop { $0 == UInt8(ascii: ",") } + (others.isEmpty ? "" : ",").utf8
    // A quote or a backslash of the text takes two bytes in a string.
    let room = min(Self.partLimit, (lineLimit - others.count - Self.allowance) / 2)
    guard room >= 4 else { return nil }
    var parts: [[UInt8]] = []
    var place = args.text.lowerBound
    while place < args.text.upperBound {
      var end = min(place + room, args.text.upperBound)
      // A character is not cut.
      while end < args.text.upperBound, members[end] & 0xc0 == 0x80 { end -= 1 }
      let at = place - args.text.lowerBound
      var part = opening + Array("\"part\":{\"id\":\(id),\"at\":\(at),\"of\":\(args.text.count),\"data\":".utf8)
      JSONWriter.write(String(decoding: members[place..<end], as: UTF8.self), to: &part)
      parts.append(part + "}}".utf8)
      place = end
    }
    return parts
  }
}
