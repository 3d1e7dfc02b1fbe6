@testable import GatewayCore
import Glibc

@testable import gatewayctl

/// A manual page for a group of commands, made from the table of commands as their help is.
struct CommandPage: Sendable, CustomStringConvertible {
  /// What stands behind `gatewayctl-`: the first command's name, or the group's.
  var name: String
  /// One line, in lower case, without a final full stop.
  var summary: String
  var commands: [CommandName]
  /// Pages that a reader may want next, as `.Xr` takes them.
  var seeAlso: [String] = []

  static let all: [CommandPage] = [
    .init(
      name: "send", summary: "send events to servers, and ask them", commands: [.send, .request],
      seeAlso: ["gatewayctl\\-outbox 1", "gatewayctl\\-subscribe 1"]),
    .init(
      name: "subscribe", summary: "print, keep and send again what servers send",
      commands: [.subscribe, .history, .replay, .wait], seeAlso: ["gatewayctl\\-serve 1"]),
    .init(name: "serve", summary: "answer what servers ask", commands: [.serve], seeAlso: ["gatewayctl\\-subscribe 1"]),
    .init(
      name: "status", summary: "look at the daemon, its connections and its clients",
      commands: [.status, .top, .connections, .clients, .metrics, .doctor, .trace], seeAlso: ["gatewayctl\\-admin 1"]),
    .init(
      name: "outbox", summary: "durable sends that are on their way", commands: [.outbox],
      seeAlso: ["gatewayctl\\-send 1"]),
    .init(
      name: "admin", summary: "steer connections and the daemon",
      commands: [.reconnect, .disconnect, .release, .fleet, .access, .reload, .drain],
      seeAlso: ["gatewayctl\\-status 1", "gatewayd.toml 5", "gatewayd 8"]),
    .init(
      name: "call", summary: "speak the protocol of the daemon", commands: [.call, .introspect, .ping],
      seeAlso: ["gatewayd\\-protocol 7"]),
    .init(
      name: "completion", summary: "complete command lines in bash, zsh and fish", commands: [.completion],
      seeAlso: ["bash 1"]),
  ]

  /// What `gatewayctl(1)` says everything of.
  static let without: [CommandName] = [.version, .help]

  var description: String { "docs/man/gatewayctl-\(name).1" }

  /// The page's lines; `date` is the argument of `.Dd`.
  func text(date: String) -> String {
    let specifications = commands.map { CommandTable.command($0).specification }
    var lines = [
      ".\\\" Written by `make documents` from the table of commands.", ".Dd \(date)",
      ".Dt GATEWAYCTL\\-\(name.uppercased()) 1", ".Os gatewayd \(GatewayVersion.current)", ".Sh NAME",
    ]
    let own = "gatewayctl\\-\(name)"
    let others = commands.map { "gatewayctl\\-\($0.rawValue)" }.filter { $0 != own }
    for (index, name) in ([own] + others).enumerated() {
      lines.append(".Nm \(name)" + (index < others.count ? " ," : ""))
    }
    lines += [".Nd \(summary)", ".Sh SYNOPSIS"]
    for command in specifications { lines += synopsis(command) }
    lines += [
      ".Sh DESCRIPTION", "What every command takes, the variables of the environment and the exit codes are those of",
      ".Xr gatewayctl 1 .", "Every command has the options",
    ]
    lines.append(
      ".Fl \\-" + OptionSpecification.common.map { Self.literal($0.name.rawValue) }.joined(separator: " , \\-") + " .")
    for command in specifications { lines += section(command, among: specifications.count) }
    lines.append(".Sh EXAMPLES")
    for (index, example) in specifications.flatMap(\.examples).enumerated() {
      if index > 0 { lines.append(".Pp") }
      lines += ["\(Self.literal(example.purpose)):", ".Bd -literal -offset indent", Self.literal(example.line), ".Ed"]
    }
    lines += [".Sh SEE ALSO", ".Xr gatewayctl 1" + (seeAlso.isEmpty ? "" : " ,")]
    for (index, page) in seeAlso.enumerated() { lines.append(".Xr \(page)" + (index < seeAlso.count - 1 ? " ," : "")) }
    return lines.joined(separator: "\n") + "\n"
  }

  private func synopsis(_ command: CommandSpecification) -> [String] {
    var lines = [".Nm gatewayctl", ".Cm \(command.name.rawValue)", ".Op Ar option ..."]
    for operand in command.operands.split(separator: " ") {
      let word = Self.literal(String(operand.filter { $0 != "[" && $0 != "]" }))
      // `[ARG…]` may be repeated, and so may `CMD…`.
      let name = word.hasSuffix("...") ? "\(word.dropLast(3)) ..." : word
      let macro = operand == "--" ? "Fl \\-" : "Ar \(name)"
      lines.append(operand.hasPrefix("[") ? ".Op \(macro)" : ".\(macro)")
    }
    return lines
  }

  private func section(_ command: CommandSpecification, among count: Int) -> [String] {
    var lines = [".Ss gatewayctl \(command.name.rawValue)"]
    let summary = command.summary.prefix(1).uppercased() + command.summary.dropFirst()
    lines.append(Self.literal("\(summary)."))
    for paragraph in command.details + (command.asksDaemon ? [HelpText.timeLimit(command)] : []) {
      lines += [".Pp"] + Self.sentences(paragraph)
    }
    guard !command.options.isEmpty else { return lines }
    lines.append(".Bl -tag -width Ds")
    for option in command.options {
      let forms =
        (option.short.map { ["\\fB\\-\($0)\\fR"] } ?? []) + ["\\fB\\-\\-\(Self.literal(option.name.rawValue))\\fR"]
      let value = option.value.map { "\\ \\fI\(Self.literal($0).replacing(" ", with: "\\ "))\\fR" } ?? ""
      lines.append(".It \(forms.joined(separator: ",\\ "))\(value)")
      let summary = option.summary.prefix(1).uppercased() + option.summary.dropFirst()
      lines += Self.sentences("\(summary).")
    }
    return lines + [".El"]
  }

  /// Each sentence on a line of its own, as the pages of manuals are written.
  private static func sentences(_ text: String) -> [String] {
    var lines = [""]
    var previous: Character = " "
    for (index, word) in text.split(separator: " ").enumerated() {
      let begins = word.first.map { $0.isUppercase } ?? false
      if index > 0, previous == ".", begins { lines.append("") }
      lines[lines.count - 1] += (lines[lines.count - 1].isEmpty ? "" : " ") + unbroken(word)
      previous = word.last ?? " "
    }
    return lines
  }

  /// A word as roff prints it; an option is not taken apart at the end of a line.
  private static func unbroken(_ word: Substring) -> String {
    (word.drop { $0 == "'" || $0 == "(" }.hasPrefix("--") ? "\\%" : "") + literal(String(word))
  }

  /// Text as roff prints it, also at the beginning of a line.
  private static func literal(_ text: String) -> String {
    var out = ""
    for character in text {
      switch character {
      case "\\": out += "\\e"
      case "-": out += "\\-"
      case "\"": out += "\\(dq"
      case "'": out += "\\(aq"
      case "`": out += "\\(ga"
      case "~": out += "\\(ti"
      case "^": out += "\\(ha"
      case "…": out += "..."
      default: out.append(character)
      }
    }
    return out.hasPrefix(".") ? "\\&" + out : out
  }
}
