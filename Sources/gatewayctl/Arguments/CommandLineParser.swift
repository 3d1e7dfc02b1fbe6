import GatewayCore

/// Sorts the words of the command line by what the commands take.
struct CommandLineParser: Sendable {
  var specification: @Sendable (CommandName) -> CommandSpecification
  /// Commands whose names are taken, and what to use until they exist.
  var later: [(name: String, instead: String)] = []

  /// Options may stand anywhere, before the command too; `--` ends them. A word like `-5` is an operand.
  func parse(_ words: [String]) throws(Failure) -> Arguments {
    let position = commandPosition(in: words)
    guard let position else { return try withoutCommand(words) }
    let word = words[position]
    if let later = later.first(where: { $0.name == word }) {
      throw Failure(.usage, "'\(word)' is not available in this version; \(later.instead)")
    }
    guard let name = CommandName.named(word) else {
      throw Failure(
        .usage,
        "unknown command '\(ShownAddress.word(word))'; "
          + hint(for: word, familiar: FamiliarWords.commands[word], among: CommandName.allCases.map(\.rawValue)))
    }
    let specification = specification(name)
    var arguments = Arguments(name)
    try sort(words, except: position, by: specification.allOptions, into: &arguments)
    if arguments.has(.help) { return help(about: arguments) }
    try checkCount(of: arguments, specification)
    return arguments
  }

  // MARK: Finding the command

  /// The first word that is neither an option nor an option's value.
  private func commandPosition(in words: [String]) -> Int? {
    var index = 0
    while index < words.count {
      let word = words[index]
      if word == "--" { return index + 1 < words.count ? index + 1 : nil }
      guard isOption(word) else { return index }
      index += takesNextWord(word, next: index + 1 < words.count ? words[index + 1] : nil) ? 2 : 1
    }
    return nil
  }

  /// Whether an option in front of the command is followed by its value. Mostly it is one of those that all commands take;
  /// `--state` takes one for some commands only: before the name of a command it does not.
  private func takesNextWord(_ word: String, next: String?) -> Bool {
    guard let next, !word.contains("=") else { return false }
    let isLong = word.hasPrefix("--")
    guard isLong || word.count == 2 else { return false }
    let isMeant = { (option: OptionSpecification) in
      isLong ? word.dropFirst(2) == option.name.rawValue : option.short == word.last
    }
    if let common = OptionSpecification.common.first(where: isMeant) { return common.value != nil }
    let named = CommandName.allCases.flatMap { specification($0).options.filter(isMeant) }
    let ambiguous = Set(named.map { $0.value == nil }).count > 1
    if ambiguous { return CommandName.named(next) == nil }
    return named.first?.value != nil
  }

  private func withoutCommand(_ words: [String]) throws(Failure) -> Arguments {
    if words.first == "--version" { return Arguments(.version) }
    var arguments = Arguments(.help)
    try sort(words, except: nil, by: OptionSpecification.common, into: &arguments)
    guard arguments.has(.help) else { throw Failure(.usage, "no command given; see 'gatewayctl help'") }
    return arguments
  }

  // MARK: Sorting

  private func isOption(_ word: String) -> Bool {
    guard word.utf8.count > 1, word.hasPrefix("-") else { return false }
    return !(word.utf8.dropFirst().first.map { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? false)
  }

  private func sort(
    _ words: [String], except command: Int?, by specifications: [OptionSpecification], into arguments: inout Arguments
  ) throws(Failure) {
    var index = 0
    while index < words.count {
      defer { index += 1 }
      let word = words[index]
      if index == command { continue }
      if word == "--" {
        arguments.operands += words.indices[(index + 1)...].filter { $0 != command }.map { words[$0] }
        return
      }
      guard isOption(word) else {
        arguments.operands.append(word)
        continue
      }
      let next = index + 1 < words.count && index + 1 != command ? words[index + 1] : nil
      let tookNext =
        word.hasPrefix("--")
        ? try takeLong(word, next, specifications, into: &arguments)
        : try takeShort(word, next, specifications, into: &arguments)
      if tookNext { index += 1 }
    }
  }

  /// `--name`, `--name value` or `--name=value`. Returns whether the next word was the value.
  private func takeLong(
    _ word: String, _ next: String?, _ specifications: [OptionSpecification], into arguments: inout Arguments
  ) throws(Failure) -> Bool {
    let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts.first ?? "")
    guard let option = specifications.first(where: { $0.name.rawValue == name }) else {
      let known = specifications.map { "--\($0.name.rawValue)" }
      throw Failure(
        .usage,
        "unknown option '--\(name)'; "
          + hint(for: "--\(name)", familiar: FamiliarWords.options[name], among: known, of: arguments.command))
    }
    if parts.count == 2 {
      guard option.value != nil else { throw Failure(.usage, "--\(name) takes no value; write it without '='") }
      arguments.add(option.name, String(parts[1]))
      return false
    }
    return try take(option, next, as: "--\(name)", into: &arguments)
  }

  /// `-n 3`, `-n3` or several letters behind one dash. Returns whether the next word was the value.
  private func takeShort(
    _ word: String, _ next: String?, _ specifications: [OptionSpecification], into arguments: inout Arguments
  ) throws(Failure) -> Bool {
    var letters = word.dropFirst()
    while let letter = letters.popFirst() {
      guard let option = specifications.first(where: { $0.short == letter }) else {
        let familiar = FamiliarWords.options[String(letter)].map { "write \($0)" }
        throw Failure(
          .usage, "unknown option '-\(letter)'; \(familiar ?? "write -- before arguments that begin with a dash")")
      }
      if option.value != nil, !letters.isEmpty {
        arguments.add(option.name, String(letters))
        return false
      }
      if try take(option, next, as: "-\(letter)", into: &arguments) { return true }
    }
    return false
  }

  private func take(
    _ option: OptionSpecification, _ next: String?, as written: String, into arguments: inout Arguments
  ) throws(Failure) -> Bool {
    guard let placeholder = option.value else {
      arguments.add(option.name, "")
      return false
    }
    guard let next else { throw Failure(.usage, "\(written) needs a value; write \(written) \(placeholder)") }
    arguments.add(option.name, next)
    return true
  }

  // MARK: Checking

  private func checkCount(of arguments: Arguments, _ specification: CommandSpecification) throws(Failure) {
    guard !specification.operandCount.contains(arguments.operands.count) else { return }
    let isFew = arguments.operands.count < specification.operandCount.lowerBound
    let advice = isFew ? nil : specification.insteadOfMore
    throw Failure(
      .usage,
      "\(isFew ? "too few" : "too many") arguments for '\(arguments.command.rawValue)'; "
        + (advice ?? "usage: \(specification.usage)"))
  }

  private func help(about arguments: Arguments) -> Arguments {
    Arguments(.help, operands: arguments.command == .help ? arguments.operands : [arguments.command.rawValue])
  }

  /// What to write instead of a word that is not known.
  private func hint(
    for word: String, familiar: String?, among known: [String], of command: CommandName = .help
  ) -> String {
    if let familiar { return "write \(familiar)" }
    let longer = word.utf8.count > 2 ? known.first { $0.hasPrefix(word) } : nil
    guard let meant = longer ?? NearestName.of(word, among: known) else {
      return command == .help ? "see 'gatewayctl help'" : "see 'gatewayctl help \(command.rawValue)'"
    }
    return "did you mean '\(meant)'?"
  }
}
