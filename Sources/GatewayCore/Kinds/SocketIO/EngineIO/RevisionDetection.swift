/// Finds out which revision a server speaks, without asking the user and without a wasted attempt.
///
/// Revision 4 is asked for first. A server that knows only one of the two refuses the other with words of its own, so
/// the other is dialled at once. Old Node servers refuse nothing: they ignore what was asked for, speak revision 3, and
/// are known by two signs together. Their handshake names no `maxPayload`, and they accept the main namespace unasked
/// and without an id. Servers from 3.0 to 4.4 show the first sign only; they get a short time of silence to tell them
/// apart, once, because the answer is remembered. By long-polling there is nothing to guess: the two revisions put
/// packets together differently.
struct RevisionDetection: Equatable, Sendable {
  enum State: Equatable, Sendable {
    /// The handshake is awaited. May become `settling`, `settled`, `failed`, or itself with the other revision.
    case dialling(EngineIORevision)
    /// Revision 4 was asked for and the handshake was an old one: nothing is sent yet. May become `settled`.
    case settling
    /// Namespaces are joined. `isSure` is false while an old server may still show itself; then it may become
    /// `dialling`, or itself with `isSure`.
    case settled(EngineIORevision, isSure: Bool)
    /// Terminal.
    case failed
  }

  enum Event: Equatable, Sendable {
    /// The server refused the revision by name.
    case revisionRefused
    case handshake(namesMaxPayload: Bool)
    /// The handshake came in a form that shows the revision: by long-polling.
    case shownHandshake(EngineIORevision)
    /// A namespace was accepted without an id, or the main one refused, before we asked for any, or instead of an
    /// acceptance with an id.
    case oldAnswer
    /// A namespace was accepted with an id.
    case newAnswer
    case settleTimePassed
  }

  enum Action: Equatable, Sendable {
    case redial(EngineIORevision)
    /// Wait so long before namespaces are joined.
    case settle(Duration)
    /// The session that was opened for revision 4 speaks revision 3.
    case switchToThree
    case join
    case remember(EngineIORevision)
    case forget
    case fail(UpstreamFailure)
  }

  /// How long a server with an old handshake gets to show that it speaks revision 3. Those that do send the sign in the
  /// same breath as the handshake.
  static let settleTime: Duration = .milliseconds(200)

  private(set) var state: State
  /// The revision that worked the last time needs no settling.
  private let remembered: EngineIORevision?
  private var refused: Set<EngineIORevision> = []

  init(remembered: EngineIORevision?) {
    self.remembered = remembered
    state = .dialling(remembered ?? .four)
  }

  /// What the server speaks, as far as it is known.
  var revision: EngineIORevision? {
    guard case .settled(let revision, _) = state else { return nil }
    return revision
  }

  /// What to dial first.
  var dialled: EngineIORevision {
    guard case .dialling(let revision) = state else { return .four }
    return revision
  }

  mutating func handle(_ event: Event) -> [Action] {
    switch (state, event) {
    case (.dialling(let revision), .revisionRefused):
      return tryOther(than: revision)
    case (.dialling(.three), .handshake):
      state = .settled(.three, isSure: true)
      return [.remember(.three), .join]
    case (.dialling(.four), .handshake(namesMaxPayload: true)):
      state = .settled(.four, isSure: true)
      return [.remember(.four), .join]
    case (.dialling(.four), .handshake(namesMaxPayload: false)):
      guard remembered != .four else {
        state = .settled(.four, isSure: false)
        return [.join]
      }
      state = .settling
      return [.settle(Self.settleTime)]

    case (.dialling(let asked), .shownHandshake(.three)):
      state = .settled(.three, isSure: true)
      return (asked == .four ? [.switchToThree] : []) + [.remember(.three), .join]
    case (.dialling(.four), .shownHandshake(.four)):
      state = .settled(.four, isSure: true)
      return [.remember(.four), .join]
    case (.dialling(.three), .shownHandshake(.four)):
      return tryOther(than: .three)

    case (.settling, .oldAnswer):
      state = .settled(.three, isSure: true)
      return [.switchToThree, .remember(.three), .join]
    case (.settling, .settleTimePassed):
      state = .settled(.four, isSure: false)
      return [.join]

    case (.settled(.four, isSure: false), .newAnswer):
      state = .settled(.four, isSure: true)
      return [.remember(.four)]
    case (.settled(.four, isSure: false), .oldAnswer):
      return tryOther(than: .four)
    case (.dialling, .oldAnswer), (.dialling, .newAnswer), (.dialling, .settleTimePassed),
      (.settling, .revisionRefused), (.settling, .handshake), (.settling, .shownHandshake), (.settling, .newAnswer),
      (.settled, .revisionRefused), (.settled, .handshake), (.settled, .shownHandshake), (.settled, .oldAnswer),
      (.settled, .newAnswer),
      (.settled, .settleTimePassed),
      (.failed, .revisionRefused), (.failed, .handshake), (.failed, .shownHandshake), (.failed, .oldAnswer),
      (.failed, .newAnswer),
      (.failed, .settleTimePassed):
      return []
    }
  }

  private mutating func tryOther(than revision: EngineIORevision) -> [Action] {
    refused.insert(revision)
    guard !refused.contains(revision.other) else {
      state = .failed
      return [
        .forget,
        .fail(UpstreamFailure(.incompatible, "the server speaks neither revision 3 nor revision 4 of Engine.IO")),
      ]
    }
    state = .dialling(revision.other)
    return [.forget, .redial(revision.other)]
  }
}

/// The revision of the Engine.IO protocol that a server speaks: the value of `EIO` in the query.
enum EngineIORevision: Int, Equatable, Sendable {
  /// Socket.IO servers 1.x and 2.x, and later ones that allow it. The client sends the heartbeat.
  case three = 3
  /// Socket.IO servers 3.x and 4.x. The server sends the heartbeat.
  case four = 4

  /// The revision of the Socket.IO protocol that goes with it.
  var socketIORevision: Int { rawValue + 1 }

  /// The largest message, in bytes, that a server takes whose handshake names no `maxPayload`: what engine.io allows
  /// unless it is told otherwise (`maxHttpBufferSize`). A server closes the link at anything larger.
  var usualPayloadLimit: Int {
    switch self {
    case .three: 100_000_000
    case .four: 1_000_000
    }
  }

  /// The revision to try when this one is refused.
  var other: EngineIORevision { self == .four ? .three : .four }
}
