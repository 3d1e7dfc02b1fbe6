@testable import GatewayCore
@testable import gatewayd

/// The documents that describe the settings, each in its own way. Their prose is written by hand, and what stands between
/// two markers from the table that the daemon reads its configuration with: `make documents`.
enum SettingDocuments: String, CaseIterable, Sendable {
  case file = "config/gatewayd.toml"
  case reference = "docs/configuration.md"
  case manual = "docs/man/gatewayd.toml.5"

  /// A table of the configuration.
  struct Section {
    /// As in `[limits]`.
    var name: String
    var settings: [SettingDescription]
    /// Whether the file shows the whole table as an example, behind `#`.
    var isExample = false
  }

  static let sections: [Section] =
    ["socket", "log", "limits", "state", "outbox", "quota", "metrics", "fleet", "defaults"].map { table in
      let settings = ConfigurationSchema.tables.settings.filter { $0.name.hasPrefix("\(table).") }
      return Section(
        name: "[\(table)]",
        settings: settings.map { SettingDescription($0, in: Configuration(), below: "\(table).") })
    } + [
      Section(
        name: "[upstream.NAME]",
        settings: Setting<UpstreamDraft>.declared.map {
          SettingDescription($0, in: UpstreamDraft(url: nil, settings: UpstreamSettings()))
        }, isExample: true),
      Section(
        name: "[[access]]",
        settings: ConfigurationSchema.access.settings.map { SettingDescription($0, in: AccessDraft()) }, isExample: true
      ),
    ]

  /// The document with its generated parts written anew.
  /// - Parameter lines: the document as it is.
  func renewed(_ lines: [String]) throws -> [String] {
    var lines = lines
    for section in Self.sections {
      guard let begin = lines.firstIndex(of: marked("settings of \(section.name), written by \"make documents\"")),
        let end = lines[begin...].firstIndex(of: marked("end of \(section.name)"))
      else { throw MissingMarkers(document: rawValue, section: section.name) }
      lines.replaceSubrange((begin + 1)..<end, with: body(of: section))
    }
    return lines
  }

  struct MissingMarkers: Error {
    var document: String
    var section: String
  }

  private func marked(_ text: String) -> String {
    switch self {
    case .file: "# --- \(text) ---"
    case .reference: "<!-- \(text) -->"
    case .manual: ".\\\" \(text)"
    }
  }

  private func body(of section: Section) -> [String] {
    switch self {
    case .file: section.settings.flatMap { $0.fileLines(isCommented: section.isExample) }
    case .reference:
      ["", "| setting | value | default | meaning |", "|---|---|---|---|"] + section.settings.map(\.tableRow) + [""]
    case .manual: section.settings.flatMap(\.manualLines)
    }
  }
}

/// What a document says about one setting.
struct SettingDescription {
  var name: String
  var label: String
  var summary: String
  /// TOML text; nil where the default is the absence of the setting.
  var standard: String?
  var example: String?

  init<Target>(_ setting: Setting<Target>, in target: Target, below prefix: String = "") {
    let document = setting.document.value
    name = String(setting.name.dropFirst(prefix.count))
    label = document?.label ?? ""
    summary = document?.summary ?? ""
    standard = document?.text(target)
    example = document?.example
  }

  /// A comment, and the setting at its default or as an example. Within an example the lines between are comments too.
  func fileLines(isCommented: Bool) -> [String] {
    let value = standard.map { "#\(name) = \($0)" } ?? "#   \(name) = \(example ?? "")"
    return [isCommented ? "#" : ""] + Self.wrapped("\(summary) (\(label))", width: 118).map { "# \($0)" } + [value]
  }

  var tableRow: String {
    "| `\(name)` | \(label) | \(standard.map { "`\($0)`" } ?? "") | \(summary) |"
  }

  /// As man(7) has lists of options.
  var manualLines: [String] {
    let value = standard.map { " = \\fI\(Self.escaped($0))\\fR" } ?? ""
    return [".TP", "\\fB\(Self.escaped(name))\\fR\(value)"] + Self.roff("\(summary) (\(label))")
  }

  /// The words in lines of at most so many characters.
  private static func wrapped(_ text: String, width: Int) -> [String] {
    var lines: [String] = []
    for word in text.split(separator: " ") {
      if let last = lines.last, last.count + 1 + word.count <= width {
        lines[lines.count - 1] += " \(word)"
      } else {
        lines.append(String(word))
      }
    }
    return lines
  }

  private static func escaped(_ text: String) -> String {
    text.replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("…", with: "\\[u2026]")
  }

  /// Lines of text, with what stands between backquotes in bold. No line may begin like a request.
  private static func roff(_ text: String) -> [String] {
    let parts = escaped(text).split(separator: "`", omittingEmptySubsequences: false)
    let bold = parts.enumerated().map { $0.offset.isMultiple(of: 2) ? String($0.element) : "\\fB\($0.element)\\fR" }
    return wrapped(bold.joined(), width: 116).map { $0.hasPrefix(".") || $0.hasPrefix("'") ? "\\&\($0)" : $0 }
  }
}
