/// What is wrong with the text of a duration, as a sentence.
struct DurationProblem: Error, Equatable, Sendable {
  var message: String
  init(_ message: String) { self.message = message }
}
