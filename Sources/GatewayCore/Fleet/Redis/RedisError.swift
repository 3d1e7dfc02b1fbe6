/// An error that a Redis server answers: a code in capitals, and a sentence.
struct RedisError: Equatable, Sendable {
  /// What it means for the call.
  enum Meaning: Equatable, Sendable {
    /// A step found that the caller's time is over.
    case fenced
    /// A stream has an entry at this position, or behind it.
    case passed
    case refused(FleetRefusal)
    /// The server has forgotten a script, or never had it.
    case unknownScript
    /// It is the wrong server, at least now: nothing more is to be asked of it.
    case wrongServer(RedisTrouble)
  }

  /// Code and sentence, shortened.
  let text: String

  /// What is kept of the server's words, in bytes.
  static let limit = 512

  init(_ text: String) { self.text = text }

  init(_ bytes: RawSpan) { text = String(shortening: bytes, to: Self.limit) }

  /// Without where in a script it happened.
  var sentence: String { text.firstRange(ofText: " script: ").map { String(text[..<$0.lowerBound]) } ?? text }

  /// The same of a script. Servers say in which line the user may not do something, and not what: `commands` are those
  /// of a line.
  func naming(_ commands: (_ line: Int) -> [String]) -> RedisError {
    guard text.contains(text: Self.deniedInScript), let line = scriptLine else { return self }
    let names = commands(line)
    return names.isEmpty ? self : RedisError("\(sentence): \(names.joined(separator: " or "))")
  }

  /// Of `…, on @user_script:5.`, and before 7.0 of `…: @user_script:5: …`.
  private var scriptLine: Int? {
    text.firstRange(ofText: "@user_script:").flatMap { Int(text[$0.upperBound...].prefix { ("0"..."9").contains($0) }) }
  }

  /// What scripts are told since 7.0.
  private static let deniedInScript = "The user executing the script can't"

  /// The first word; of an error that a script ended with, on servers before 7.0, that of the command in it.
  var code: String {
    guard text.hasPrefix("ERR Error running script") else { return Self.firstWord(text[...]) }
    for part in text.split(separator: ":").dropFirst() {
      let word = Self.firstWord(part.drop { $0 == " " || $0 == "-" })
      if word.count > 2, word.allSatisfy({ $0.isASCII && $0.isUppercase }) { return word }
    }
    return "ERR"
  }

  private static func firstWord(_ text: Substring) -> String { String(text.prefix { $0 != " " }) }

  var meaning: Meaning {
    switch code {
    case "FENCED": .fenced
    case "NOSCRIPT": .unknownScript
    case "OOM": .refused(.full)
    case "NOPERM": .refused(.forbidden(text))
    case "READONLY", "MASTERDOWN", "UNBLOCKED": .wrongServer(.replica)
    case "LOADING": .wrongServer(.loading)
    case "BUSY": .wrongServer(.busy)
    case "NOAUTH": .wrongServer(.loginMissing)
    case "WRONGPASS": .wrongServer(.loginRefused(text))
    case "MOVED": .wrongServer(.moved(to: place))
    case "ASK", "TRYAGAIN", "CLUSTERDOWN": .wrongServer(.clusterChanges(text))
    default: other
    }
  }

  private var other: Meaning {
    if text.contains(text: "equal or smaller than the target stream top item") { return .passed }
    if text.contains(text: Self.deniedInScript) { return .refused(.forbidden(text)) }
    return .refused(.other(text))
  }

  /// Where MOVED and ASK lead: `MOVED 3999 127.0.0.1:6381`. Nil for a host that the server does not know, which stands
  /// for the one that was asked.
  private var place: RedisPlace? {
    let words = text.split(separator: " ")
    guard words.count == 3, let colon = words[2].lastIndex(of: ":"), colon > words[2].startIndex,
      let port = UInt16(words[2][words[2].index(after: colon)...])
    else { return nil }
    return RedisPlace(host: String(words[2][..<colon]), port: port)
  }
}

/// Where a server of Redis listens.
struct RedisPlace: Hashable, Sendable, CustomStringConvertible {
  var host: String
  var port: UInt16

  var description: String { "\(UpstreamURL.bracketed(host)):\(port)" }
}

/// Why a Redis server cannot be used, or not any more.
enum RedisTrouble: Error, Equatable, Sendable {
  /// It takes no writes.
  case replica
  /// It keeps nothing.
  case sentinel
  case loading
  /// A script of another client runs.
  case busy
  /// Another node of the cluster has the keys; nil where it was not said which.
  case moved(to: RedisPlace?)
  /// It has so many replicas of so many that are wanted: nothing would last there, and it may be one that was replaced.
  case bare(Int, of: Int)
  /// Another master has the replicas.
  case bettered(by: RedisPlace)
  /// Keys are on their way to another node, or no node has them.
  case clusterChanges(String)
  /// The oldest version that will do is `RedisLogin.oldestVersion`.
  case tooOld(String)
  /// It wants a login, and none is configured.
  case loginMissing
  case loginRefused(String)
  /// The user may not do what every host has to.
  case forbidden(String)
  /// It refused the connection itself.
  case turnedAway(String)
  /// The password could not be read.
  case noCredential(String)
  /// It said nothing for so long.
  case silent(Duration)
  /// What it sent is no RESP.
  case malformed(RESPProblem)
  /// An answer without a question, or one of another form than such a question has.
  case senseless(String)
  /// The two connections to one address are connections to two servers.
  case twoServers
  /// The server lost a script, and other calls were under way behind the one that named it.
  case scriptsForgotten
  /// A user of the engine, such as the lease, gave it up.
  case distrusted
  /// TCP or TLS.
  case link(UpstreamFailure)
}

/// A server that cannot be used, and why.
struct RedisMiss: Equatable, Sendable {
  /// Nil where none was asked.
  var place: RedisPlace?
  var trouble: RedisTrouble

  var failure: UpstreamFailure { trouble.failure(of: place?.description ?? "") }
}

extension [RedisMiss] {
  /// A replica is in order, and says nothing of what is wrong with the master.
  var mostTellingFirst: [RedisMiss] { filter { $0.trouble != .replica } + filter { $0.trouble == .replica } }
}

extension RedisTrouble {
  /// The same as the reason of everything that needs the server. `server` is its address.
  func failure(of server: String) -> UpstreamFailure {
    switch self {
    case .link(let failure) where isForWantOfTLS && failure.reason == .tls:
      UpstreamFailure(.tls, "\(server) does not speak TLS: use redis:// if that is meant")
    case .link(let failure) where isForWantOfTLS:
      UpstreamFailure(failure.reason, "\(failure.detail): use redis:// if it has no TLS")
    // Most of them name the server themselves.
    case .link(let failure) where failure.detail.contains(text: server): failure
    case .link(let failure): UpstreamFailure(failure.reason, "\(server): \(failure.detail)", status: failure.status)
    case .noCredential(let sentence): UpstreamFailure(.auth, sentence)
    default: UpstreamFailure(reason, "\(server) \(predicate)")
    }
  }

  /// The server may be one without TLS. One of Redis waits for more of what is no command.
  var isForWantOfTLS: Bool {
    guard case .link(let failure) = self else { return false }
    return failure.reason == .tls && failure.detail.contains(text: "does not speak TLS")
      || failure.reason == .timeout && failure.detail.contains(text: "the TLS handshake")
  }

  private var reason: DownReason {
    switch self {
    case .replica, .sentinel, .loading, .busy, .moved, .bare, .bettered, .clusterChanges, .twoServers,
      .scriptsForgotten,
      .distrusted:
      .unreachable
    case .tooOld: .incompatible
    case .loginMissing, .loginRefused, .forbidden, .turnedAway: .refused
    case .silent: .timeout
    case .malformed, .senseless: .protocolError
    case .noCredential: .auth
    case .link(let failure): failure.reason
    }
  }

  /// What stands behind the server's address in a sentence.
  private var predicate: String {
    switch self {
    case .replica: "is a replica, and only the master takes writes"
    case .sentinel: "is a Sentinel, which keeps nothing: name the servers that it watches"
    case .loading: "is still loading its data"
    case .busy: "is busy with a script"
    case .moved(let place): "has given the keys away\(place.map { ", to \($0)" } ?? "")"
    case .bare(let count, let wanted): "has \(count) replicas, and the fleet wants \(wanted) that confirm"
    case .bettered(let place): "has too few replicas, and \(place) has enough"
    case .clusterChanges(let words): "cannot answer while its cluster changes (\(words))"
    case .tooOld(let version): "is Redis \(version), and a fleet needs \(RedisLogin.oldestVersion)"
    case .loginMissing: "wants a login, and the fleet has no password"
    case .loginRefused(let words): "refused the login (\(words))"
    case .forbidden(let words): "does not let this user do what each host has to do (\(words))"
    case .turnedAway(let words): "turned the connection away (\(words))"
    case .silent(let limit): "did not answer within \(limit.milliseconds) ms"
    case .malformed(let problem): problem.description
    case .senseless(let what): "answered what makes no sense: \(what)"
    case .twoServers: "led to two servers at once"
    case .scriptsForgotten: "has forgotten its scripts"
    case .distrusted: "was given up"
    case .noCredential(let sentence): sentence
    case .link(let failure): failure.detail
    }
  }
}
