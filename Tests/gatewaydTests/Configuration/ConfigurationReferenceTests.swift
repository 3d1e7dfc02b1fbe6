@testable import GatewayCore
import Testing

@testable import gatewayd

/// The tables of `docs/configuration.md` are what the program declares.
struct ConfigurationReferenceTests {
  private let lines: [String]

  init() throws { lines = try Repository.lines(of: "docs/configuration.md") }

  @Test(arguments: ["socket", "log", "limits", "state", "defaults"])
  func tableOfTheReferenceIsWhatTheProgramDeclares(_ table: String) {
    let settings = ConfigurationSchema.tables.settings.filter { $0.name.hasPrefix("\(table).") }
    #expect(rows(below: "## `[\(table)]`") == settings.map { row($0, in: Configuration(), below: "\(table).") })
  }

  @Test func tableOfUpstreamsIsWhatTheyHaveBeyondDefaults() {
    let draft = UpstreamDraft(url: nil, settings: UpstreamSettings())
    #expect(
      rows(below: "## `[upstream.NAME]`") == Setting<UpstreamDraft>.declared.map { row($0, in: draft, below: "") })
  }

  @Test func tableOfAccessRulesIsWhatTheProgramDeclares() {
    let settings = ConfigurationSchema.access.settings
    #expect(rows(below: "## `[[access]]`") == settings.map { row($0, in: AccessDraft(), below: "") })
  }

  @Test func examplesAreValid() throws {
    var example: [String]?
    var count = 0
    for line in lines {
      if line == "```toml" {
        example = []
      } else if line == "```", let text = example {
        _ = try configure(text.joined(separator: "\n")).get()
        count += 1
        example = nil
      } else {
        example?.append(line)
      }
    }
    #expect(count >= 3)
  }

  private func row<Target>(_ setting: Setting<Target>, in target: Target, below prefix: String) -> String {
    let value = setting.text(target).map { "`\($0)`" } ?? ""
    return "| `\(setting.name.dropFirst(prefix.count))` | \(setting.label) | \(value) | \(setting.summary) |"
  }

  /// The body of the first table behind a heading.
  private func rows(below heading: String) -> [String] {
    guard let start = lines.firstIndex(of: heading) else { return [] }
    let section = lines[(start + 1)...].prefix { !$0.hasPrefix("## ") }
    return Array(section.filter { $0.hasPrefix("| `") })
  }
}
