/// The sentences about lines that were not understood. Whatever the client wrote is shown shortened.
extension LocalError {
  static func parse(_ error: JSONError) -> LocalError {
    let place: [Fact] = [Fact("at", .integer(error.offset))]
    switch error {
    case .syntax(let at): return LocalError(.parseError, "The line is not valid JSON at byte \(at).", place)
    case .utf8(let at): return LocalError(.parseError, "The line is not valid UTF-8 at byte \(at).", place)
    case .depth(let at):
      return LocalError(
        .parseError, "The line is nested more than \(JSONScanner.depthLimit) levels deep at byte \(at).", place)
    case .duplicateKey(let at): return LocalError(.parseError, "A key is used twice at byte \(at).", place)
    case .tooLong(let limit): return LocalError(.parseError, "The line has more than \(limit) bytes.", place)
    }
  }

  /// - Parameter known: the names of all methods.
  static func unknownMethod(_ name: String, among known: [String]) -> LocalError {
    let hint: String
    if let nearest = NearestName.of(name, among: known) {
      hint = "There is no method \(quoted(name)); did you mean \"\(nearest)\"?"
    } else {
      hint = "There is no method \(quoted(name)); \"rpc.discover\" lists all."
    }
    return LocalError(.methodNotFound, hint, [Fact("method", .string(shortened(name)))])
  }

  static func unknownParameter(_ name: String, of method: LocalMethod) -> LocalError {
    let names = method.parameters.map(\.name.text)
    let hint: String
    if let nearest = NearestName.of(name, among: names) {
      hint = "\"\(method.name)\" has no param \(quoted(name)); did you mean \"\(nearest)\"?"
    } else if names.isEmpty {
      hint = "\"\(method.name)\" has no param \(quoted(name)); it takes none."
    } else {
      hint = "\"\(method.name)\" has no param \(quoted(name)); it takes \(names.joined(separator: ", "))."
    }
    return invalid(name, hint)
  }

  static func duplicateParameter(_ name: String, of method: LocalMethod) -> LocalError {
    invalid(name, "The param \(quoted(name)) of \"\(method.name)\" is given twice.")
  }

  static func missingParameter(_ name: String, of method: LocalMethod) -> LocalError {
    invalid(name, "\"\(method.name)\" needs the param \"\(name)\".")
  }

  static func wrongParameter(_ name: ParameterName, of method: LocalMethod) -> LocalError {
    let requirement = method.kind(name)?.requirement ?? "absent"
    return invalid(name.text, "The param \"\(name.text)\" of \"\(method.name)\" must be \(requirement).")
  }

  /// A member of an object param that this object does not have.
  static func unknownMember(_ member: String, of name: ParameterName, of method: LocalMethod) -> LocalError {
    var error = wrongParameter(name, of: method)
    error.message.removeLast()
    error.message += ", without \(quoted(member))."
    return error
  }

  static func invalid(_ parameter: String, _ message: String) -> LocalError {
    LocalError(.invalidParams, message, [Fact("param", .string(shortened(parameter)))])
  }

  private static func quoted(_ name: String) -> String { "\"\(shortened(name))\"" }

  private static func shortened(_ name: String) -> String { name.shortened(to: 64) }
}
