import GatewayCore

/// `call METHOD [JSON]`: the raw result.
enum CallCommand: Subcommand {
  static let specification = CommandSpecification(
    name: .call, operands: "METHOD [JSON]", operandCount: 1...2,
    summary: "call any method of the daemon and print its result",
    details: [
      "For what has no command of its own. JSON is the object of parameters; @FILE reads it from a file, - from standard "
        + "input. 'gatewayctl introspect' lists the methods."
    ],
    examples: [.init("Who am I to the daemon?", "gatewayctl call hello")])

  static func run(_ context: Context) throws(Failure) -> ExitCode {
    let operands = context.arguments.operands
    let method = operands.first ?? ""
    let inputs = InputFiles()
    let params = operands.count > 1 ? try parameters(operands[1], inputs) : Array("{}".utf8)
    switch try context.client.answer(to: method, params, from: inputs, until: context.deadline) {
    case .success(let result): try context.printJSON(result)
    case .failure(let error): throw error.failure(ofCall: method)
    }
    return .done
  }

  private static func parameters(_ word: String, _ inputs: InputFiles) throws(Failure) -> [UInt8] {
    let advice = "write an object like '{\"url\":\"https://chat.example\"}'"
    let file = word == "-" ? "-" : word.hasPrefix("@") ? String(word.dropFirst()) : nil
    let text = if let file { try inputs.read(file) } else { Array(word.utf8) }
    return try PayloadArguments.json(text, named: file ?? "what stands behind METHOD", advice: advice)
  }
}
