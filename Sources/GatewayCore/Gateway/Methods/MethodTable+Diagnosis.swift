/// Finding out what is wrong.
extension MethodTable {
  static let diagnosisMethods: [LocalMethod] = [
    LocalMethod(
      "doctor", "Walks from the name of a server to an accepted namespace, on connections of its own.", right: .send,
      parameters: LocalParameter.target + [
        .optional(
          .timeout, .duration(default: 30_000), "How long all of it may take, in milliseconds; 30000 unless given.")
      ],
      result: ResultSchemas.doctor
    ) { params, line throws(LocalError) in
      .doctor(
        try params.target(line), timeout: try params.required(.timeout, params.duration(.timeout, line)))
    },
    LocalMethod(
      "trace", "Shows every packet of a connection, in words, until `untrace`; makes no connection by itself.",
      right: .admin,
      parameters: LocalParameter.target + [
        .optional(.payloads, .boolean, "Show payloads too, without the secrets that the daemon knows.")
      ],
      result: .object([.always("trace", .text)])
    ) { params, line throws(LocalError) in
      .trace(try params.target(line), payloads: try params.boolean(.payloads, line) ?? false)
    },
    LocalMethod(
      "untrace", "Ends a trace.", right: .admin, parameters: [.required(.trace, .name, "The trace's id.")]
    ) { params, line throws(LocalError) in
      .untrace(trace: try params.required(.trace, params.string(.trace, line)))
    },
  ]
}
