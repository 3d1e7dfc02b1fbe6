/// What holds for the name of an event, whoever chose it.
enum EventName {
  /// Longest name, in bytes of UTF-8: of what a program sends, and of what a server does.
  static let limit = 1_024
}
