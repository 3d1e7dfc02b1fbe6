extension HistoryLog {
  /// Whose history it is, on this machine and at the server.
  struct Identity: Equatable {
    /// The name of the segments.
    var name: String
    var upstream: String
    /// As it may be shown.
    var namespace: String
    /// Changes with everything by which the server tells users apart.
    var target: UInt64
  }
}

extension HistoryLog.Identity {
  /// Of a configured upstream; nil for a connection by URL, which has no name that would outlive the daemon.
  init?(_ specification: UpstreamSpecification) {
    guard let upstream = specification.name else { return nil }
    self.upstream = upstream
    namespace = specification.shownNamespace
    let place = Fingerprint.of([Array(upstream.utf8), Array(specification.namespace.utf8)])
    name = Self.fileName(upstream) + "-" + Self.hexadecimal(place)
    target = Self.target(specification)
  }

  /// What decides as which client the server knows us. Only equal values are worth anything.
  private static func target(_ specification: UpstreamSpecification) -> UInt64 {
    let settings = specification.settings
    var parts = [specification.url.canonical.fullText, specification.namespace, settings.path].map { Array($0.utf8) }
    switch settings.auth {
    case .none: parts.append([])
    case .inline(let payload): parts.append(payload)
    case .external(let source): parts.append(Array(source.subject.utf8))
    }
    for header in settings.headers { parts += [Array(header.name.utf8), Array(header.value.utf8)] }
    for item in settings.query { parts += [Array(item.name.utf8), Array(item.value.utf8)] }
    for member in settings.headerSources + settings.querySources {
      parts += [Array(member.name.utf8), Array(member.source.subject.utf8)]
    }
    return Fingerprint.of(parts)
  }

  /// The beginning of the names of all histories of an upstream, as `fileName` makes it of the upstream's name.
  static func upstreamPart(of name: String) -> String { String(name.dropLast(17)) }

  /// A name as a file's, shortened; what tells names apart comes behind it: `-` and sixteen digits.
  static func fileName(_ name: String) -> String {
    let safe = name.utf8.prefix(48).map { byte -> String in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
        String(UnicodeScalar(byte))
      default: "%" + String(hexadecimal(UInt64(byte)).suffix(2))
      }
    }
    return safe.joined()
  }

  private static func hexadecimal(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
