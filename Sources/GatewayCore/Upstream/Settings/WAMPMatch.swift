/// How a subscription or registration compares names (WAMP sections "Pattern-based Subscription" and
/// "Pattern-based Registration").
enum WAMPMatch: String, Equatable, Sendable {
  case exact
  /// Names that begin with the pattern.
  case prefix
  /// Empty components of the pattern stand for any one component.
  case wildcard
}
