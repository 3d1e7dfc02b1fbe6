/// What a program says of a URL that the configuration does not have: a few of the settings of an `[upstream.NAME]`.
/// The values of headers and of query parameters are secrets. Never changed, and held by every call, connection and
/// send that names it: hence an object.
public final class TargetOptions: Hashable, Sendable {
  /// Most bytes of them in a call: a connection keeps them.
  static let byteLimit = 16 << 10

  /// HTTP path of Socket.IO; nil as configured.
  let path: String?
  /// By name, whatever their order was.
  let headers: [HTTPHeader]
  /// By name.
  let query: [QueryItem]
  /// PEM text of the certificates to trust; nil as configured.
  let authorities: String?
  /// Whether the server's certificate is checked; nil as configured.
  let verify: Bool?

  init(path: String?, headers: [HTTPHeader], query: [QueryItem], authorities: String?, verify: Bool?) {
    self.path = path
    self.headers = headers.sorted { $0.name.lowercased() < $1.name.lowercased() }
    self.query = query.sorted { $0.name < $1.name }
    self.authorities = authorities
    self.verify = verify
  }

  /// Whether they say nothing, and so are as good as none.
  var isEmpty: Bool { self == TargetOptions(path: nil, headers: [], query: [], authorities: nil, verify: nil) }

  /// Whether something in them is never written to the disk.
  var holdSecrets: Bool { !headers.isEmpty || !query.isEmpty }

  /// Bytes of what a durable send may have of them.
  var byteCount: Int { (path?.utf8.count ?? 0) + (authorities?.utf8.count ?? 0) }

  /// The names of the settings in them, as they stand in an upstream's table.
  var names: [String] {
    [
      path.map { _ in "path" }, headers.isEmpty ? nil : "headers", query.isEmpty ? nil : "query",
      authorities.map { _ in "tls.ca" }, verify.map { _ in "tls.verify" },
    ].compactMap { $0 }
  }

  /// Gives settings what is said here.
  func apply(to settings: inout UpstreamSettings) {
    if let path { settings.path = path }
    settings.headers += headers
    settings.query += query
    if let authorities { settings.tls.ca = .text(authorities) }
    if let verify { settings.tls.verify = verify }
  }

  public static func == (a: TargetOptions, b: TargetOptions) -> Bool {
    a === b
      || a.path.isExactly(b.path) && a.headers == b.headers && a.query == b.query
        && a.authorities.isExactly(b.authorities) && a.verify == b.verify
  }

  public func hash(into hasher: inout Hasher) {
    path.hashExactly(into: &hasher)
    hasher.combine(headers)
    hasher.combine(query)
    authorities.hashExactly(into: &hasher)
    hasher.combine(verify)
  }
}

extension TargetOptions {
  /// As a call has them, secrets included: equal for equal ones.
  public var text: [UInt8] {
    var out = JSONWriter()
    write(into: &out, value: { $0 }, authorities: { $0 })
    return out.bytes
  }

  /// As people see them: names of headers and parameters without their values, and of certificates how long they are.
  func writeShown(into out: inout JSONWriter) {
    write(into: &out, value: { _ in ShownAddress.mark }, authorities: { "PEM text of \($0.utf8.count) bytes" })
  }

  private func write(
    into out: inout JSONWriter, value shown: (String) -> String, authorities shownAuthorities: (String) -> String
  ) {
    out.object { out in
      if let path { out.member("path", path) }
      Self.write("headers", headers.map { ($0.name, shown($0.value)) }, into: &out)
      Self.write("query", query.map { ($0.name, shown($0.value)) }, into: &out)
      guard authorities != nil || verify != nil else { return }
      out.key("tls")
      out.object {
        if let authorities { $0.member("ca", shownAuthorities(authorities)) }
        guard let verify else { return }
        $0.key("verify")
        $0.bool(verify)
      }
    }
  }

  private static func write(_ name: String, _ members: [(String, String)], into out: inout JSONWriter) {
    guard !members.isEmpty else { return }
    out.key(name)
    out.object { for (key, value) in members { $0.member(key, value) } }
  }
}
