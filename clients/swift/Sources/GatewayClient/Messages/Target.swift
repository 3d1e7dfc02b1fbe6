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

  /// Adds a member; nothing where the value is nil.
  subscript(key: String) -> JSON? {
    get { nil }
    set { if let newValue { add(key, JSONWriter.text(of: newValue, form: .plain)) } }
  }

  /// Adds a member whose value is a text of JSON already.
  mutating func add(_ key: String, _ text: [UInt8]?) {
    guard let text else { return }
    if !members.isEmpty { members.append(UInt8(ascii: ",")) }
    JSONWriter.write(key, to: &members)
    members.append(UInt8(ascii: ":"))
    members += text
  }

  /// Adds members that are there already as an object.
  mutating func add(contentsOf object: [JSON.Member]) {
    for member in object { self[member.key] = member.value }
  }

  var text: [UInt8] { [UInt8(ascii: "{")] + members + [UInt8(ascii: "}")] }
}
