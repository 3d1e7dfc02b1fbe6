/// Prepares the messages of one server of JSON lines and dials it.
final class LinesConnector: UpstreamConnector {
  private let way: DirectConnectorState
  private let profile: LinesProfile
  /// In front of a body, also after a restart: it shows which kind of upstream a message was prepared for, and with
  /// which names of members.
  private let mark: [UInt8]

  init(_ specification: UpstreamSpecification, seams: DirectSeams) {
    way = DirectConnectorState(specification, seams: seams, layer: TraceFact.Layer(rawValue: "lines")) { _ in "" }
    profile = LinesProfile(specification.settings.lines)
    mark = profile.mark
  }

  var kind: String { LinesKind.traits.name }
  var hosts: [String] { way.hosts }
  var route: DialRequest { way.route }
  var partsLimit: Int { way.partsLimit }
  /// Nothing but a login is answered at the beginning.
  var isAnswered: Bool { profile.settings.login.type != nil }
  var observer: (any UpstreamObserver)? {
    get { way.observer }
    set { way.observer = newValue }
  }

  func prepare(_ draft: MessageDraft) throws(MessageProblem) -> PreparedMessage {
    try LinesDraft(profile: profile).message(draft, mark: mark)
  }

  func prepareAnswer(_ draft: AnswerDraft) throws(MessageProblem) -> PreparedMessage {
    throw .invalid("a server of JSON lines asks for no acknowledgements")
  }

  func check(_ message: PreparedMessage, acknowledged: Bool) -> MessageProblem? {
    guard message.body.first == mark.first else {
      return .outdated("the upstream became one of JSON lines while this waited, which was written for something else")
    }
    guard message.body.starts(with: mark) else {
      return .outdated("`lines` of the upstream changed while this waited, which was written with other members")
    }
    return nil
  }

  func awaitNewCredentials(_ done: @escaping () -> Void) { way.awaitNewCredentials(done) }

  func dial(owner: any UpstreamChannelOwner) -> any UpstreamChannel {
    let profile = profile
    return way.dial(owner: owner) { LinesSession($0, profile) }
  }
}
