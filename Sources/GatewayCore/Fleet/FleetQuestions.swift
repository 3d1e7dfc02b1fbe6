extension Interest {
  /// Whether it asks for the events of that name.
  func matches(_ name: String) -> Bool {
    switch pattern {
    case .all: true
    case .name(let text): text == ExactText(name)
    case .glob(let glob): Glob.matches(glob.text, name)
    }
  }
}
