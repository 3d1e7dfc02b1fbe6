/// A long array or object among a call's params, which was taken out of its line and checked while the line came in. In
/// the line an empty one stands for it. An object, because nearly all lines have none: to hand that on is to copy a nil.
public final class LongMember: Sendable {
  /// Where it stood in the line, and the empty one stands now.
  let place: Int
  /// Its text, which is the memory that it was gathered in.
  let text: [UInt8]
  /// No string in it begins like a `$…bin` key. Not known when false.
  let isPlain: Bool
  /// Why it is no JSON. The text is not complete then.
  let problem: JSONError?

  /// Bytes of the line that are missing.
  private let missing: Int

  init(place: Int, text: [UInt8], isPlain: Bool, problem: JSONError?) {
    self.place = place
    self.text = text
    self.isPlain = isPlain
    self.problem = problem.map { $0.moved(by: place) }
    missing = text.count - Self.standIn
  }

  /// Bytes of what stands for it.
  static let standIn = 2

  /// Where in the line as it was sent something stands that is found in the line as it is now.
  func original(_ offset: Int) -> Int { offset > place ? offset + missing : offset }

  /// The same for what is wrong with it.
  func original(_ error: JSONError) -> JSONError { error.moved(by: original(error.offset) - error.offset) }
}

extension JSONError {
  fileprivate func moved(by distance: Int) -> JSONError {
    switch self {
    case .syntax(let at): .syntax(at: at + distance)
    case .utf8(let at): .utf8(at: at + distance)
    case .depth(let at): .depth(at: at + distance)
    case .duplicateKey(let at): .duplicateKey(at: at + distance)
    case .tooLong: self
    }
  }
}
