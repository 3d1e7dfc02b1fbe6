/// What a call that looks at a connection is about.
enum LookTarget: Equatable, Sendable {
  case upstream(CallTarget)
  /// One that exists, by its id.
  case connection(String)
}

/// Which upstream a call is about. An object, because most calls are about the same one as the call before, and share it.
final class CallTarget: Sendable {
  enum Name: Equatable, Sendable {
    case upstream(String)
    case url(String)

    static func == (a: Self, b: Self) -> Bool {
      switch (a, b) {
      case (.upstream(let one), .upstream(let other)), (.url(let one), .url(let other)): one.isExactly(other)
      case (.upstream, .url), (.url, .upstream): false
      }
    }
  }
  let name: Name
  let namespace: String?
  /// Raw JSON object text; only with `url`. Secret.
  let auth: [UInt8]?
  /// Only with `url`; nil where they say nothing.
  let options: TargetOptions?

  init(name: Name, namespace: String? = nil, auth: [UInt8]? = nil, options: TargetOptions? = nil) {
    self.name = name
    self.namespace = namespace
    self.auth = auth
    self.options = options
  }
}

extension CallTarget: Equatable {
  static func == (a: CallTarget, b: CallTarget) -> Bool {
    a === b || a.name == b.name && a.namespace.isExactly(b.namespace) && a.auth == b.auth && a.options == b.options
  }
}
