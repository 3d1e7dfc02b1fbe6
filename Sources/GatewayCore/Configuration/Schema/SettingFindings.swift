/// What is wrong with the value of one setting; never empty.
struct SettingFindings: Error {
  /// One thing that is wrong.
  struct Finding {
    var position: TextPosition
    /// The member of the value that is meant, when the setting is a table.
    var member: String?
    /// Completes a sentence that begins with the setting's name, such as `must be a string, not a date`.
    var predicate: String
  }

  var all: [Finding]

  init(_ all: [Finding]) { self.all = all }

  init(_ predicate: String, at node: ConfigurationNode, member: String? = nil) {
    all = [Finding(position: node.position, member: member, predicate: predicate)]
  }

  /// `must be EXPECTATION, not a date`.
  init(expected expectation: String, found node: ConfigurationNode, member: String? = nil) {
    self.init("must be \(expectation), not \(node.kind)", at: node, member: member)
  }
}
