/// The longest line that the daemon takes, as its `hello` tells. What is longer is refused here, before any of it is
/// written: the daemon could only close the connection.
struct LineLimit: Equatable, Sendable {
  /// In bytes, without the line feed.
  var bytes: Int

  /// Every daemon takes a line of so many bytes: no `limits.line` is less.
  static let least = 1 << 10

  /// Why a call whose line has `size` bytes cannot be made; nil: it can.
  ///
  /// - Parameter inputs: the files that the call is made of, the largest of which is named.
  func problem(withLineOf size: Int, from inputs: InputFiles?) -> Failure? {
    guard size > bytes else { return nil }
    let input = inputs?.largest.map { "\($0.name) has \($0.size) bytes, and " } ?? ""
    return Failure(
      .badInput,
      "\(input)the call would be a line of \(size) bytes, of which the daemon takes \(bytes); send it in smaller parts, "
        + "or raise limits.line in the daemon's configuration")
  }
}
