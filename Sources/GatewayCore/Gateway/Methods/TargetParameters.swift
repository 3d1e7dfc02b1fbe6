/// Bounds of params. Lengths are in bytes.
extension ParameterKind {
  /// A name that the user chose: of an upstream, or of a program.
  static let name = ParameterKind.string(1...identifierLimit)
  static let eventName = ParameterKind.string(1...EventName.limit)
  static let amount = ParameterKind.integer(1...1_000_000_000)
}

extension LocalParameter {
  /// Which upstream a call is about: exactly one of `upstream` and `url`.
  static let target = target(
    upstream: "Name of a configured upstream; this or `url` is needed.",
    url: "URL of an upstream, whose path is the namespace; this or `upstream` is needed.")

  /// Which upstream alone a call is about: none of them, or one of `upstream` and `url`.
  static let optionalTarget = target(
    upstream: "Only this upstream, by its configured name.",
    url: "Only the upstream of this URL, whose path is the namespace.")

  /// What a call looks at: an upstream, or a connection that exists.
  static let lookTarget =
    target + [.optional(.connection, .name, "Id of a connection, in place of what names its upstream.")]

  private static func target(upstream: String, url: String) -> [LocalParameter] {
    [
      .optional(.upstream, .name, upstream),
      .optional(.url, .string(1...8_192), url),
      .optional(.namespace, .string(1...1_024), "Namespace; `/` unless the URL or the configuration names another."),
      .optional(.auth, .object, "Auth payload for the server, of at most 16 KiB; only with `url`. Never shown."),
      .optional(
        .options, .options,
        "Settings for a `url` that the configuration does not have, of at most 16 KiB: `path`, `headers`, `query`, and `tls` with `ca` (PEM text) and `verify`."
      ),
    ]
  }
}

extension ParameterValues {
  /// Bytes of a target's `auth`: its connection keeps it, and reads it at each attempt.
  static let authLimit = 16 << 10

  /// The upstream that the call must name.
  @inline(__always)
  func target(_ line: RawSpan) throws(LocalError) -> CallTarget {
    if let lastTarget, isNamed(lastTarget, line) { return lastTarget }
    return try otherTarget(line)
  }

  private func otherTarget(_ line: RawSpan) throws(LocalError) -> CallTarget {
    let upstream = try string(.upstream, line)
    let url = try string(.url, line)
    let namespace = try string(.namespace, line)
    let auth = try raw(.auth, line)
    let options = try raw(.options, line)
    switch (upstream, url) {
    case (let upstream?, nil):
      guard auth == nil else {
        throw .invalid("auth", "The param \"auth\" goes with \"url\" only; \"\(upstream)\" has its own credentials.")
      }
      guard options == nil else {
        throw .invalid(
          "options",
          "The param \"options\" goes with \"url\" only; \"\(upstream)\" has its settings in the configuration.")
      }
      return CallTarget(name: .upstream(upstream), namespace: namespace)
    case (nil, let url?):
      guard auth?.count ?? 0 <= Self.authLimit else {
        throw .invalid("auth", "The param \"auth\" may have \(Self.authLimit) bytes at most.")
      }
      return CallTarget(name: .url(url), namespace: namespace, auth: auth, options: try Self.options(options))
    case (_?, _?): throw .invalid("url", "\"\(method.name)\" takes either \"upstream\" or \"url\", not both.")
    case (nil, nil): throw .invalid("upstream", "\"\(method.name)\" needs \"upstream\" or \"url\".")
    }
  }

  /// Whether the call names this target, and that by its name alone. No text is made for the question.
  @inline(__always)
  private func isNamed(_ target: CallTarget, _ line: RawSpan) -> Bool {
    guard target.namespace == nil, target.auth == nil, target.options == nil else { return false }
    return switch target.name {
    case .upstream(let name): isOnly(.upstream, name, line)
    case .url(let url): isOnly(.url, url, line)
    }
  }

  /// Whether of what names a target this param alone was given, with this text.
  @inline(__always)
  private func isOnly(_ parameter: ParameterName, _ text: String, _ line: RawSpan) -> Bool {
    guard given & Self.targetBits == parameter.bit, let range = range(parameter) else { return false }
    return Self.isPlain(text, line, range)
  }

  /// Whether a value is this text, written without an escape.
  private static func isPlain(_ text: String, _ line: RawSpan, _ range: Range<Int>) -> Bool {
    guard JSONScanner.byte(line, range.lowerBound) == UInt8(ascii: "\"") else { return false }
    let inside = JSONScanner.inside(line, range)
    return line.extracting(inside).isEqual(to: text.utf8Span.span.bytes) && !JSONScanner.hasEscape(line, inside)
  }

  /// What the call must name to look at.
  func lookTarget(_ line: RawSpan) throws(LocalError) -> LookTarget {
    guard let connection = try string(.connection, line) else { return .upstream(try target(line)) }
    guard !namesTarget else {
      throw .invalid(
        "connection", "\"\(method.name)\" takes either \"connection\" or what names an upstream, not both.")
    }
    return .connection(connection)
  }

  private static func options(_ text: [UInt8]?) throws(LocalError) -> TargetOptions? {
    guard let text else { return nil }
    do throws(TargetOptionsProblem) { return try TargetOptions.read(text) } catch {
      throw .invalid("options", "\(error.message).")
    }
  }

  /// Nil if the call names no upstream at all.
  func optionalTarget(_ line: RawSpan) throws(LocalError) -> CallTarget? {
    namesTarget ? try target(line) : nil
  }

  private var namesTarget: Bool { given & Self.targetBits != 0 }

  /// The params that may name one.
  private static var targetBits: UInt64 {
    ParameterName.upstream.bit | ParameterName.url.bit | ParameterName.namespace.bit | ParameterName.auth.bit
      | ParameterName.options.bit
  }
}
