/// What a call that looks at a connection is about.
enum LookTarget: Equatable, Sendable {
  case upstream(CallTarget)
  /// One that exists, by its id.
  case connection(String)
}

/// Which upstream a call is about.
struct CallTarget: Equatable, Sendable {
  enum Name: Equatable, Sendable {
    case upstream(String)
    case url(String)
  }
  var name: Name
  var namespace: String?
  /// Raw JSON object text; only with `url`. Secret.
  var auth: [UInt8]?
  /// Only with `url`; nil where they say nothing.
  var options: TargetOptions?

  init(name: Name, namespace: String? = nil, auth: [UInt8]? = nil, options: TargetOptions? = nil) {
    self.name = name
    self.namespace = namespace
    self.auth = auth
    self.options = options
  }
}
