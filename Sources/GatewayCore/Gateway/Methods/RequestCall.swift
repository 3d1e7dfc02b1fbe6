/// `request`: a `send` that waits for the server's acknowledgement.
struct RequestCall: LocalCall {
  let parameters: SendParameters

  static let method = LocalMethod(
    "request",
    "Sends an event to an upstream and waits for the server's acknowledgement; `progress` tells what comes before it.",
    right: .request,
    parameters: LocalParameter.target + SendParameters.ofEvent + [
      .optional(
        .timeout, .duration(default: 10_000), "How long to wait for the answer, in milliseconds; 10000 unless given.")
    ],
    result: .object([
      .always("args", .list(.any), "What the server answered, verbatim."),
      .sometimes("kwargs", .object([]), "Its keyword arguments, where the upstream has such."),
    ]))

  static let startsWork = true

  func perform(in session: LocalSession, _ id: RequestID?) throws(LocalError) {
    try PartSubmission.begin(parameters, .request, id, in: session)
  }
}

extension RequestCall {
  init(_ params: borrowing ParameterValues, _ line: RawSpan) throws(LocalError) {
    parameters = try SendParameters(params, line, .acked)
  }
}
