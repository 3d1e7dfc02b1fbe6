import GatewayCore

/// The upstream that a call is about.
struct Target: Equatable, Sendable {
  /// A URL, or the name of a configured upstream, as it was typed. A URL may hold secrets: this is for the daemon, and for
  /// the user's own programs. Sentences say `shown`.
  let asTyped: String
  var namespace: String?
  var options = URLOptions()
  /// The id of a connection that exists, which is meant instead.
  var connection: String?

  init(_ name: String, namespace: String? = nil) {
    asTyped = name
    self.namespace = namespace
  }

  /// The options of the command line that say something of an upstream.
  static let options = URLOptions.names + [.namespace, .connection]

  /// With the options of the command line. Only a URL contains `://`, and only a URL takes settings.
  ///
  /// - Parameter read: the same options as another target has them: standard input can be read once. Nil reads them.
  init(_ name: String, _ arguments: Arguments, read: URLOptions? = nil) throws(Failure) {
    self.init(name, namespace: arguments.value(.namespace))
    if let given = URLOptions.names.first(where: arguments.has), !isURL {
      throw Failure(
        .usage,
        "--\(given.rawValue) goes with a URL; '\(shown)' is the name of an upstream, which has its settings in the daemon's configuration"
      )
    }
    if let read { options = read } else { options = try URLOptions(arguments) }
    for other in URLOptions.names + [.namespace] { try arguments.refuse(.connection, with: other) }
    connection = arguments.value(.connection)
  }

  /// Otherwise it is a name.
  var isURL: Bool { asTyped.contains(text: "://") }

  /// What people read of it, and monitoring systems, mails and logs: no user, no password, no value of the query. Where a
  /// connection is meant a namespace may stand behind the address, as in `top`.
  var shown: String {
    guard connection != nil, let place = asTyped.lastIndex(of: " "), asTyped[place...].hasPrefix(" /") else {
      return ShownAddress.word(asTyped)
    }
    return ShownAddress.word(String(asTyped[..<place])) + asTyped[place...]
  }

  /// The members of `params`.
  func write(into writer: inout JSONWriter) {
    if let connection {
      writer.key("connection")
      writer.string(connection)
      return
    }
    writer.key(isURL ? "url" : "upstream")
    writer.string(asTyped)
    if let namespace {
      writer.key("namespace")
      writer.string(namespace)
    }
    options.write(into: &writer)
  }
}

/// What is said of a URL that the daemon's configuration does not have: `--auth` and what stands in `options`.
struct URLOptions: Equatable, Sendable {
  /// Raw JSON object text.
  private var auth: [UInt8]?
  private var path: String?
  private var headers: [Member] = []
  private var query: [Member] = []
  /// PEM text.
  private var authorities: String?
  private var isInsecure = false

  /// One header or one parameter.
  private struct Member: Equatable, Sendable {
    var name: String
    var value: String
  }

  /// The options of the command line that go with a URL only.
  static let names: [OptionName] = [.auth, .path, .header, .query, .cacert, .insecure]

  init() {}

  /// Files are read here, with the rights of the user.
  init(_ arguments: Arguments) throws(Failure) {
    auth = try arguments.value(.auth).map { (word) throws(Failure) in
      try PayloadArguments.object(word, of: .auth)
    }
    path = arguments.value(.path)
    for word in arguments.values(.header) { headers.append(try Self.member(word, .header, at: ":", "'Name: value'")) }
    for word in arguments.values(.query) { query.append(try Self.member(word, .query, at: "=", "name=value")) }
    authorities = try arguments.value(.cacert).map { (file) throws(Failure) in try Self.authorities(file) }
    isInsecure = arguments.has(.insecure)
  }

  private static func member(
    _ word: String, _ option: OptionName, at separator: Character, _ form: String
  ) throws(Failure) -> Member {
    guard let place = word.firstIndex(of: separator), place > word.startIndex else {
      // The word may be a secret.
      throw Failure(.usage, "--\(option.rawValue): this has no '\(separator)' behind a name; write \(form)")
    }
    let value = word[word.index(after: place)...]
    let isHeader = option == .header
    return Member(
      name: String(word[..<place]), value: String(isHeader ? value.drop { $0 == " " || $0 == "\t" } : value))
  }

  private static let certificateBegin = "-----BEGIN CERTIFICATE-----"
  private static let certificateEnd = "-----END CERTIFICATE-----"

  /// The certificates of a PEM file, and nothing else that stands in it: comments, or a key.
  private static func authorities(_ file: String) throws(Failure) -> String {
    var rest = String(decoding: try InputFile.read(file), as: UTF8.self)[...]
    var certificates = ""
    while let begin = rest.firstRange(ofText: certificateBegin),
      let end = rest[begin.upperBound...].firstRange(ofText: certificateEnd)
    {
      certificates += rest[begin.lowerBound..<end.upperBound] + "\n"
      rest = rest[end.upperBound...]
    }
    guard !certificates.isEmpty else {
      throw Failure(
        .badInput, "the file '\(file)' holds no certificate in PEM form, which begins with \(certificateBegin)")
    }
    return certificates
  }

  /// The members of `params`.
  func write(into writer: inout JSONWriter) {
    if let auth {
      writer.key("auth")
      writer.raw(auth)
    }
    guard path != nil || !headers.isEmpty || !query.isEmpty || authorities != nil || isInsecure else { return }
    writer.key("options")
    writer.beginObject()
    if let path {
      writer.key("path")
      writer.string(path)
    }
    Self.write("headers", headers, into: &writer)
    Self.write("query", query, into: &writer)
    writeTLS(into: &writer)
    writer.endObject()
  }

  private func writeTLS(into writer: inout JSONWriter) {
    guard authorities != nil || isInsecure else { return }
    writer.key("tls")
    writer.beginObject()
    if let authorities {
      writer.key("ca")
      writer.string(authorities)
    }
    if isInsecure {
      writer.key("verify")
      writer.bool(false)
    }
    writer.endObject()
  }

  private static func write(_ name: String, _ members: [Member], into writer: inout JSONWriter) {
    guard !members.isEmpty else { return }
    writer.key(name)
    writer.beginObject()
    for member in members {
      writer.key(member.name)
      writer.string(member.value)
    }
    writer.endObject()
  }
}
