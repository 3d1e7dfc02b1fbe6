import GatewayCore

/// The words of the command line, sorted by `CommandLineParser` into a command, its operands and its options. Values
/// are still text here; each is read by what asks for it.
struct Arguments: Equatable, Sendable {
  var command: CommandName
  var operands: [String] = []
  /// In the order in which they stand: there are a few, and a table would cost a short run more than it saves.
  private var options: [Option] = []

  private struct Option: Equatable {
    var name: OptionName
    /// Empty for one that takes none.
    var value: String
  }

  init(_ command: CommandName, operands: [String] = []) {
    self.command = command
    self.operands = operands
  }

  func has(_ name: OptionName) -> Bool { options.contains { $0.name == name } }
  /// The value given last.
  func value(_ name: OptionName) -> String? { options.last { $0.name == name }?.value }
  /// Every value, in order.
  func values(_ name: OptionName) -> [String] { options.filter { $0.name == name }.map(\.value) }

  /// Adds an option that was given; one without a value has an empty one.
  mutating func add(_ name: OptionName, _ value: String) { options.append(Option(name: name, value: value)) }

  // MARK: Values

  /// A duration such as `10s`.
  func duration(_ name: OptionName) throws(Failure) -> Duration? {
    guard let text = value(name) else { return nil }
    do {
      return try DurationText.parse(text)
    } catch {
      throw Failure(.usage, "--\(name.rawValue): \(error.message)")
    }
  }

  /// A whole number within `range`.
  func count(_ name: OptionName, in range: ClosedRange<Int>) throws(Failure) -> Int? {
    guard let text = value(name) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      let bounds =
        range.upperBound == .max ? "at least \(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)"
      throw Failure(
        .usage, "--\(name.rawValue): '\(ShownAddress.word(text))' is not accepted; write a whole number, \(bounds)")
    }
    return number
  }

  /// One of the words of an enumeration.
  func choice<Choice: RawRepresentable & CaseIterable>(
    _ name: OptionName, of type: Choice.Type
  ) throws(Failure) -> Choice? where Choice.RawValue == String {
    guard let text = value(name) else { return nil }
    guard let choice = Choice(rawValue: text) else {
      let words = Choice.allCases.map(\.rawValue)
      let nearest = NearestName.of(text, among: words).map { "did you mean '\($0)'?" }
      throw Failure(
        .usage,
        "--\(name.rawValue): unknown value '\(ShownAddress.word(text))'; \(nearest ?? "write \(words.joined(separator: ", "))")"
      )
    }
    return choice
  }

  /// Refuses two options that cannot both be meant.
  func refuse(_ one: OptionName, with other: OptionName) throws(Failure) {
    guard has(one), has(other) else { return }
    throw Failure(.usage, "--\(one.rawValue) and --\(other.rawValue) contradict each other; choose one")
  }
}
