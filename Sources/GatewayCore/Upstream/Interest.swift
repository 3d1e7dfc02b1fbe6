/// What local programs want to hear of an upstream. Kinds whose servers send only what was asked for ask for it by
/// these; others get everything and ignore them.
struct Interest: Hashable, Sendable, CustomStringConvertible {
  /// Names are compared byte by byte, as the upstream sends them.
  enum Pattern: Hashable, Sendable {
    /// Every event.
    case all
    /// One event, without wildcards or escapes.
    case name(ExactText)
    /// `*` any run of characters, `?` one character, `\` escapes.
    case glob(ExactText)
  }

  var pattern: Pattern
  /// To be asked by the server, and to answer. Such an interest hears no events beside that.
  var answers: Bool

  init(_ pattern: Pattern, answers: Bool = false) {
    self.pattern = pattern
    self.answers = answers
  }

  /// Whether it asks for the events of that name.
  func matches(_ name: String) -> Bool {
    switch pattern {
    case .all: true
    case .name(let text): text == ExactText(name)
    case .glob(let glob): Glob.matches(glob.text, name)
    }
  }

  /// For people.
  var description: String {
    switch pattern {
    case .all: "every event"
    case .name(let name): name.text
    case .glob(let glob): glob.text
    }
  }
}

/// Of which interests the other end of a channel wants to know.
enum ConfirmedInterests: Equatable {
  /// Of none: the server sends everything.
  case none
  /// Of those that answer its questions.
  case answering
  /// Of all: the server sends only what was asked for.
  case all

  func include(_ interest: Interest) -> Bool {
    switch self {
    case .none: false
    case .answering: interest.answers
    case .all: true
    }
  }
}
