/// One method of the local protocol: a row of the method table. Everything that is said about the method, in a check,
/// in an error or by `rpc.discover`, is said from here.
final class LocalMethod: Sendable {
  let name: String
  /// One sentence for a person.
  let summary: String
  /// The verb that the caller must have been granted; nil for what everybody may do who can open the socket.
  let right: AccessVerb?
  let parameters: [LocalParameter]
  let result: JSONSchema

  /// What each param may be, by the number of its name.
  private let kinds: [ParameterKind?]
  /// One bit for each param, by the number of its name.
  let knownParameters: UInt64
  let requiredParameters: UInt64
  /// The same for durations for which something stands when they were not given.
  private let usualDurations: UInt64

  init(
    _ name: String, _ summary: String, right: AccessVerb?, parameters: [LocalParameter] = [],
    result: JSONSchema = .object([])
  ) {
    self.name = name
    self.summary = summary
    self.right = right
    self.parameters = parameters
    self.result = result
    var kinds = [ParameterKind?](repeating: nil, count: ParameterName.allCases.count)
    for parameter in parameters { kinds[parameter.name.rawValue] = parameter.kind }
    self.kinds = kinds
    knownParameters = parameters.reduce(0) { $0 | $1.name.bit }
    requiredParameters = parameters.reduce(0) { $1.isRequired ? $0 | $1.name.bit : $0 }
    usualDurations = parameters.reduce(0) { if case .duration(_?) = $1.kind { $0 | $1.name.bit } else { $0 } }
  }

  /// Stands for the method of a call as long as that is not known.
  static let unknown = LocalMethod("", "There is no such method.", right: nil)

  /// What a param may be; nil if the method does not have it.
  @inline(__always)
  func kind(_ name: ParameterName) -> ParameterKind? { kinds[name.rawValue] }

  /// What stands for a duration that was not given; nil if nothing does.
  @inline(__always)
  func usualDuration(_ name: ParameterName) -> Duration? {
    usualDurations & name.bit == 0 ? nil : lookUpUsualDuration(name)
  }

  private func lookUpUsualDuration(_ name: ParameterName) -> Duration? {
    guard case .duration(let milliseconds?) = kind(name) else { return nil }
    return .milliseconds(milliseconds)
  }
}

extension ParameterName {
  @inline(__always)
  var bit: UInt64 { 1 &<< UInt64(truncatingIfNeeded: rawValue) }
}
