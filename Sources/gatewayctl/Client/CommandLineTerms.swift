import GatewayCore

/// The daemon's sentences name methods and their params; a user at a shell knows commands, operands and options.
enum CommandLineTerms {
  /// The sentence in words of the command line. What is no name of a param stays.
  static func of(_ message: String) -> String {
    var text = message
    // What the sentence says to programs beside it.
    text = text.replacing("by --namespace, or by the param `namespace`", by: "by --namespace")
    for (member, word) in members { text = text.replacing("options.\(member)", by: word) }
    for verb in OutboxVerb.allCases {
      for mark in ["'", "`"] {
        text = text.replacing("\(mark)outbox.\(verb.rawValue)\(mark)", by: "'outbox \(verb.rawValue)'")
      }
    }
    for (param, word) in words {
      for form in ["The param \"\(param)\"", "the param \"\(param)\"", "`\(param)`"] {
        text = text.replacing(form, by: word)
      }
    }
    guard text != message else { return message }
    text = withOtherNames(text)
    for name in CommandName.allCases { text = text.replacing(" of \"\(name.rawValue)\"", by: "") }
    for name in CommandName.allCases {
      text = text.replacing("\"\(name.rawValue)\" needs", by: "\(name.rawValue) needs")
    }
    return text
  }

  /// With the words for others that the sentence names, such as the option that contradicts the first. What a value must
  /// be stands as it is: members of its JSON, and words, are written just so on the command line, too.
  private static func withOtherNames(_ text: String) -> String {
    let value = text.firstRange(ofText: " must be ")?.lowerBound ?? text.endIndex
    var subject = String(text[..<value])
    for (param, word) in words { subject = subject.replacing("\"\(param)\"", by: word) }
    return subject + text[value...]
  }

  /// What `doctor` advises about a URL: settings that the command line has options for.
  static func ofAdvice(_ advice: String) -> String {
    var text = advice
    for (setting, word) in settings { text = text.replacing("`\(setting)`", by: word) }
    return text
  }

  private static let settings: [(String, String)] = [
    ("auth", "--auth"), ("path", "--path"), ("headers", "--header"), ("query", "--query"), ("tls.ca", "--cacert"),
  ]

  /// For `call`, where params are params: only the method that lists the methods has a command.
  static func ofCall(_ message: String) -> String {
    message.replacing(#""rpc.discover" lists all"#, by: "'gatewayctl introspect' lists all")
  }

  /// Members of `options`, and the options of the command line that they come from.
  private static let members: [(String, String)] = [
    ("path", "--path"), ("headers", "--header"), ("query", "--query"), ("tls.ca", "--cacert"),
    ("tls.verify", "--insecure"),
  ]

  /// The operands, and every option.
  private static let words: [(String, String)] =
    [
      ("url", "URL"), ("upstream", "URL"), ("event", "EVENT"), ("events", "EVENT"), ("args", "ARG"), ("ids", "ID"),
      ("states", "--state"), ("headers", "--header"),
      ("options", "an option for the server (--path, --header, --query, --cacert, --insecure)"),
    ]
    + OptionName.allCases.map { option in
      (String(option.rawValue.map { $0 == "-" ? "_" : $0 }), "--\(option.rawValue)")
    }
}

extension String {
  /// With every occurrence of a text replaced.
  func replacing(_ text: String, by other: String) -> String {
    var (result, rest) = ("", self[...])
    while let found = rest.firstRange(ofText: text) {
      result += rest[..<found.lowerBound] + other
      rest = rest[found.upperBound...]
    }
    return result + rest
  }
}
