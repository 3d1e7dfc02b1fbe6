/// Whether later requests of a session of long-polling reach the server that opened it: what the sessions that were
/// opened for that have shown so far.
///
/// A session is asked for by the request that ends it. What is called "several servers" is proven: a session that one
/// answer does not know and a later one does. Everything else that goes wrong has other causes as well, and is told as
/// what it is.
struct Stickiness: Equatable {
  /// How many sessions are opened.
  static let sessions = 4
  /// How often a session is asked for at most.
  static let askLimit = 6

  private(set) var opened = 0
  /// Known to the first server that was asked.
  private(set) var found = 0
  /// A session was known to one server and not to another.
  private(set) var provesSeveralServers = false
  /// What went wrong last with a session that no instance of the server knew.
  private(set) var trouble: String?

  /// A session, and the cookies that came with it.
  struct Session: Equatable {
    var sid: String
    var cookies: [String]

    init(_ handshake: EngineIOHandshake, _ response: HTTPResponse) {
      sid = handshake.sid
      cookies = response.headers.filter { $0.name == "set-cookie" }.map { String($0.value.prefix { $0 != ";" }) }
    }
  }

  /// What a request said of its session.
  enum Answer: Equatable {
    case known
    /// By the server's own word, or as servers without such words refuse what they do not know.
    case unknown
    /// Nothing; with a sentence about what came instead.
    case nothing(String)

    init(_ result: Result<HTTPResponse, UpstreamFailure>) {
      switch result {
      case .success(let response) where response.status == 200: self = .known
      case .success(let response) where [400, 404, 410].contains(response.status): self = .unknown
      case .success, .failure: self = .nothing(Stickiness.sentence(of: result))
      }
    }
  }

  /// What came where a session was to be opened or asked for.
  static func sentence(of result: Result<HTTPResponse, UpstreamFailure>) -> String {
    switch result {
    case .success(let response): "Another request was answered with \(response.status)."
    case .failure(let failure): "Another request failed: \(failure.detail)."
    }
  }

  /// Counts a session: what the last request said that asked for it, and how many did.
  mutating func take(_ answer: Answer, asked: Int) {
    opened += 1
    switch answer {
    case .known where asked == 1: found += 1
    case .known: provesSeveralServers = true
    case .unknown: trouble = "The others are not known to any server that answered."
    case .nothing(let sentence): trouble = sentence
    }
  }
}
