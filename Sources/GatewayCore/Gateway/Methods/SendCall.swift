/// `send`: an event for an upstream.
struct SendCall: LocalCall {
  let parameters: SendParameters

  static let method = LocalMethod(
    "send", "Sends an event to an upstream; what cannot be written now waits in a queue.", right: .send,
    parameters: LocalParameter.target + SendParameters.ofEvent + [
      .optional(
        .delivery, .choice(DeliveryLevel.allCases.map(\.rawValue)),
        "When the call is answered; `accepted` unless given."),
      .optional(.timeout, .duration(default: nil), "How long to wait for the answer, in milliseconds."),
    ],
    result: ResultSchemas.send)

  static let startsWork = true

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    try PartSubmission.begin(parameters, .send(parameters.delivery), id, in: session)
  }
}

extension SendCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    parameters = try SendParameters(params, line, Self.delivery(params, line) ?? .accepted)
  }

  private static let levels = DeliveryLevel.allCases
  private static let levelIndex = NameIndex(levels.map(\.rawValue))

  /// What most sends name is found without building a text.
  private static func delivery(
    _ params: borrowing ParameterValues, _ line: RawSpan
  ) throws(LocalError) -> DeliveryLevel? {
    guard let range = params.range(.delivery) else { return nil }
    guard JSONScanner.byte(line, range.lowerBound) == UInt8(ascii: "\""), let level = levelIndex.find(line, range)
    else {
      throw .wrongParameter(.delivery, of: params.method)
    }
    return levels[level]
  }
}
