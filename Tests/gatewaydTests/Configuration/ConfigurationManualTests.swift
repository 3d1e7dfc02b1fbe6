import Testing

@testable import GatewayCore
@testable import gatewayd

/// `config/gatewayd.toml` is the manual: it must say what the program does.
struct ConfigurationManualTests {
  private let lines: [String]

  init() throws { lines = try Repository.lines(of: "config/gatewayd.toml") }

  @Test func fileAsItIsMeansTheDefaults() throws {
    #expect(try configure(lines.joined(separator: "\n")).get() == Configuration())
  }

  @Test func everyDefaultThatItNamesIsTheDefault() throws {
    let text = lines.map { isDefault($0) ? String($0.dropFirst()) : $0 }.joined(separator: "\n")
    #expect(text.contains("\nlinger = "))
    #expect(try configure(text).get() == Configuration())
  }

  @Test func examplesAreValidOnceTheyAreTakenTogether() throws {
    let alternatives = [
      "#   tls.key_password = ", "#   auth = ", "#   auth_credential = ", "#   auth_command = ", "#   uid = ",
      "#   group = ", "#   gid = ", "#   password_credential = ", "#   fleet = ",
    ]
    let text = lines.compactMap { line -> String? in
      if alternatives.contains(where: line.hasPrefix) { return nil }
      if line.hasPrefix("# ["), line.hasSuffix("]") { return String(line.dropFirst(2)) }
      guard line.hasPrefix("#   "), line.contains(" = ") else { return line }
      return String(line.dropFirst(4))
    }
    let upstream = #"upstream = ["chat", "metrics-*"]"#
    let configuration = try configure(text.joined(separator: "\n")).get()
    #expect(text.contains(upstream))
    #expect(configuration.upstreams["chat"]?.settings.auth == .file("/etc/gatewayd/chat.token"))
    #expect(
      configuration.access
        == [
          AccessRule(
            subject: .user(34), upstreams: ["chat", "metrics-*"], namespaces: ["/", "/chat*"],
            events: ["alarm.*", "say"], allow: [.status, .subscribe, .send])
        ])
  }

  /// Wherever the settings are cut off, the parser answers: with a tree, or with an error that has a place.
  @Test func everyBeginningOfTheFileIsAnswered() {
    let settings = lines.filter { isDefault($0) || $0.hasPrefix("[") }
    let text = Array(settings.map { isDefault($0) ? String($0.dropFirst()) : $0 }.joined(separator: "\n").utf8)
    var unplaced: [Int] = []
    for length in 0...text.count {
      if case .failure(let problem) = TomlText.parse(Array(text[..<length]), file: "g.toml"), problem.line < 1 {
        unplaced.append(length)
      }
    }
    #expect(unplaced == [])
  }

  private func isDefault(_ line: String) -> Bool {
    line.hasPrefix("#") && line.dropFirst().first?.isLetter == true
  }
}
