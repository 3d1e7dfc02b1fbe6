import Testing

@testable import GatewayCore

/// What an attempt does with its credentials, whatever is dialled with them.
@Suite struct ConnectAttemptTests {
  /// One attempt whose kind is the test.
  private final class Rig {
    let time = FakeTime()
    let timers: Timers
    let reader = FakeCredentials()
    let attempt: ConnectAttempt
    /// The payloads that were tried.
    private(set) var tried: [String] = []
    private(set) var ended: [UpstreamFailure] = []
    private(set) var changes = 0

    init(_ auth: AuthSource = .file("/t"), _ more: @escaping (inout UpstreamSettings) -> Void = { _ in }) {
      timers = Timers(time: time)
      let specification = SocketIORig().specification {
        $0.auth = auth
        more(&$0)
      }
      attempt = ConnectAttempt(
        UpstreamCredentials(specification, readings: CredentialReads(reader: reader)), timers: timers, time: time)
    }

    func start(_ content: String?) {
      reader.files["/t"] = content
      attempt.start(
        begin: { [unowned self] in tried.append(String(decoding: $0.payload ?? [], as: UTF8.self)) },
        end: { [unowned self] in ended.append($0) })
    }

    /// The server refuses, and the kind does as it has to; what there is to be read meanwhile.
    func refuse(_ failure: UpstreamFailure = refusal, then content: String?) {
      reader.files["/t"] = content
      if attempt.mayTryAgain(after: failure) { attempt.tryAgain(after: failure) }
      timers.fire()
    }

    func accept() {
      attempt.accepted()
      attempt.watchExpiry(RefreshSettings(), fraction: 0) { [unowned self] in changes += 1 }
    }
  }

  private static let refusal = UpstreamFailure(.refused, "no")
  private static func json(_ token: String) -> String { #"{"token":"\#(token)"}"# }

  @Test func otherCredentialsAreTriedOnce() {
    let rig = Rig()
    rig.start("one")
    #expect(rig.attempt.state == .trying(isSecond: false))
    rig.refuse(then: "two")
    #expect(rig.tried == [Self.json("one"), Self.json("two")] && rig.attempt.isSecond)
    #expect(!rig.attempt.mayTryAgain(after: Self.refusal))
    let told = rig.attempt.explained(Self.refusal)
    #expect(told.detail == "no; the credentials were read again and refused again")
  }

  @Test(arguments: ["one", nil] as [String?]) func sameOrNoneEndWithTheFirstRefusal(_ content: String?) {
    let rig = Rig()
    rig.start("one")
    rig.refuse(then: content)
    #expect(rig.tried.count == 1 && rig.ended == [Self.refusal] && rig.attempt.state == .over)
  }

  @Test func aRefusalThatRepeatsTheCredentialsIsKnownAsSuch() {
    let rig = Rig()
    rig.start("s3cret")
    for (message, data, isKnown) in [
      ("no", "1", false), ("s3cret is not known", "1", true), ("no", #"{"token":"s3cret"}"#, true),
    ] {
      let refusal = UpstreamFailure(.refused, "no", serverMessage: message, serverData: Array(data.utf8))
      #expect(rig.attempt.areRepeated(in: refusal) == isKnown, "\(message) \(data)")
    }
    let answer = UpstreamFailure(.http, "the server answered with HTTP 401: s3cret", status: 401)
    #expect(rig.attempt.areRepeated(in: answer))
    #expect(rig.attempt.areRepeated(in: UpstreamFailure(.kicked, "the router ended this session: s3cret")))
  }

  @Test func credentialsOfTheConfigurationItselfAreKnownInTheServersWords() {
    let rig = Rig {
      $0.headers = [HTTPHeader(name: "X-Key", value: "h3ader")]
      $0.query = [QueryItem(name: "key", value: "qu3ry")]
    }
    for word in ["h3ader", "qu3ry"] {
      #expect(rig.attempt.areRepeated(in: UpstreamFailure(.refused, "no", serverMessage: "\(word) is not known")))
    }
    #expect(!rig.attempt.areRepeated(in: UpstreamFailure(.refused, "no", serverMessage: "the key is not known")))
  }

  @Test func aSentenceOfOursThatHasAWordOfTheConfigurationIsNotTakenForTheServers() {
    let rig = Rig {
      $0.headers = [HTTPHeader(name: "Host", value: "chat.example.com")]
      $0.alternatives = [UpstreamURL(scheme: "http", host: "h.example", query: "transport=websocket&EIO=4")]
    }
    for failure in [
      UpstreamFailure(.unreachable, "no connection to chat.example.com"),
      UpstreamFailure(.closed, "the server closed the websocket"),
    ] {
      #expect(!rig.attempt.areRepeated(in: failure), "\(failure)")
    }
    #expect(rig.attempt.areRepeated(in: UpstreamFailure(.closed, "the server has said: chat.example.com")))
  }

  @Test func nothingIsReadAgainInTheCallThatTellsOfTheRefusal() {
    let rig = Rig()
    rig.start("one")
    rig.attempt.tryAgain(after: Self.refusal)
    #expect(rig.reader.reads == 1)
    rig.timers.fire()
    #expect(rig.reader.reads == 2)
  }

  @Test func unreadableOnesEndItInALaterTurn() {
    let rig = Rig()
    rig.start(nil)
    #expect(rig.ended == [])
    rig.timers.fire()
    #expect(rig.ended.map(\.reason) == [.auth] && rig.tried == [])
  }

  @Test(arguments: [
    UpstreamFailure(.unreachable, "no"), UpstreamFailure(.refused, "no", retryAfter: .seconds(1)),
    UpstreamFailure(.http, "no", status: 401),
  ])
  func whatOtherCredentialsWouldNotCureIsNotTriedAgain(_ failure: UpstreamFailure) {
    let rig = Rig()
    rig.start("one")
    #expect(!rig.attempt.mayTryAgain(after: failure))
  }

  @Test func whatWasAcceptedIsNotTriedAgainButWatched() {
    let rig = Rig()
    let day: Int64 = 86_400
    rig.start(webToken(#"{"exp":\#(rig.time.wallMilliseconds / 1_000 + day)}"#))
    rig.accept()
    #expect(!rig.attempt.mayTryAgain(after: Self.refusal))
    rig.reader.files["/t"] = webToken(#"{"exp":\#(rig.time.wallMilliseconds / 1_000 + 2 * day)}"#)
    rig.time.advance(by: .seconds(day))
    rig.timers.fire()
    #expect(rig.changes == 1)
  }

  /// Against a model that counts: at most two tries and one end, none of them after the end, and a second try only with
  /// something else than the first.
  @Test func anyOrderOfEventsTriesAtMostTwiceAndEndsAtMostOnce() {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<2_000 {
      let rig = Rig()
      rig.reader.isHeldBack = Bool.random(using: &random)
      rig.start(Bool.random(using: &random) ? "one" : nil)
      var isStopped = false
      for _ in 0..<8 {
        let before = (rig.tried.count, rig.ended.count, isStopped || !rig.ended.isEmpty)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: rig.reader.release()
        case 1: rig.timers.fire()
        case 2: rig.refuse(then: ["one", "two", nil].randomElement(using: &random) ?? nil)
        case 3: if case .trying = rig.attempt.state { rig.accept() }
        case 4: rig.reader.files["/t"] = "three"
        default:
          guard Int.random(in: 0..<4, using: &random) == 0 else { continue }
          rig.attempt.stop()
          isStopped = true
        }
        if before.2 { #expect((rig.tried.count, rig.ended.count) == (before.0, before.1)) }
      }
      #expect(rig.tried.count <= 2 && rig.ended.count <= 1 && Set(rig.tried).count == rig.tried.count)
    }
  }
}
