/// The few colours of the readable output, or none.
struct Palette: Equatable, Sendable {
  var isColored: Bool

  /// No colour for `--no-color`, `NO_COLOR` or `TERM=dumb`; colour for `FORCE_COLOR` (other than 0) or on a terminal.
  /// The option goes before the variables, and `NO_COLOR` before `FORCE_COLOR`.
  init(environment: Environment, refused: Bool) {
    if refused || environment["NO_COLOR"] != nil {
      isColored = false
    } else if let forced = environment["FORCE_COLOR"] {
      isColored = forced != "0"
    } else {
      isColored = environment.outputIsTerminal && environment["TERM"] != "dumb"
    }
  }

  init(isColored: Bool) { self.isColored = isColored }

  /// What a colour stands for. The raw value is the parameter of the escape sequence SGR (ECMA-48 section 8.3.117).
  enum Role: String, Sendable {
    case heading = "1"
    case good = "32"
    case waiting = "33"
    case bad = "31"
    case faint = "2"
  }

  func paint(_ text: String, _ role: Role?) -> String {
    guard isColored, let role, !text.isEmpty else { return text }
    return "\u{1b}[\(role.rawValue)m\(text)\u{1b}[0m"
  }
}
