/// What is wrong with the options of a target, in words.
public struct TargetOptionsProblem: Error, Equatable, Sendable {
  /// One sentence without a full stop. Never holds the value of a secret.
  var message: String
}

extension TargetOptions {
  /// Reads the `options` of a target by the rules and with the words of an `[upstream.NAME]`; nil for options that say
  /// nothing. Members that are `null` are absent. Nothing in them names a file, a credential or a command: those would
  /// be read with the daemon's rights for a program that may not read them. Decision 0125.
  public static func read(_ text: [UInt8]) throws(TargetOptionsProblem) -> TargetOptions? {
    guard text.count <= byteLimit else {
      throw TargetOptionsProblem(message: "The param \"options\" may have \(byteLimit) bytes at most")
    }
    guard let value = try? JSONValue.parse(text.span.bytes) else {
      throw TargetOptionsProblem(message: "options must be a JSON object")
    }
    let notes = ProblemNotes(files: [""])
    guard let node = try ConfigurationNode(value, of: "options"), let entries = node.entries else {
      throw TargetOptionsProblem(message: "options must be a JSON object")
    }
    var settings = UpstreamSettings()
    let origins = ConfigurationSchema.options.read(entries, title: "options", file: 0, into: &settings, noting: notes)
    if let first = notes.problems.first { throw TargetOptionsProblem(message: first.problem.message) }
    let options = TargetOptions(
      path: origins["path"].map { _ in settings.path }, headers: settings.headers, query: settings.query,
      authorities: settings.tls.ca?.text, verify: origins["tls.verify"].map { _ in settings.tls.verify })
    return options.isEmpty ? nil : options
  }
}

extension ConfigurationNode {
  /// JSON as a value of a setting; nil for `null`. All of it stands at one place.
  fileprivate init?(_ json: JSONValue, of name: String) throws(TargetOptionsProblem) {
    let start = TextPosition(line: 1, column: 1)
    switch json {
    case .null: return nil
    case .bool(let value): self.init(at: start, .boolean(value))
    case .string(let text): self.init(at: start, .string(text))
    case .number(let text): self.init(at: start, Int64(text).map { .integer($0) } ?? .float(text))
    case .array(let elements):
      var nodes: [ConfigurationNode] = []
      for element in elements { if let node = try Self(element, of: name) { nodes.append(node) } }
      self.init(at: start, .array(nodes))
    case .object(let members):
      var names: Set<ExactText> = []
      var entries: [ConfigurationEntry] = []
      for member in members {
        guard names.insert(ExactText(member.key)).inserted else {
          throw TargetOptionsProblem(message: "\(name) has \(member.key.shortened(to: 64).tomlString) twice")
        }
        guard let node = try Self(member.value, of: "\(name).\(member.key)".shortened(to: 128)) else { continue }
        entries.append(ConfigurationEntry(member.key, at: start, node))
      }
      self.init(at: start, .table(entries))
    }
  }
}
