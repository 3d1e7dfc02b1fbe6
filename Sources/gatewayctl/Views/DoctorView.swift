import GatewayCore

/// One finding as lines for a person: `  ok       tcp         10.0.0.1 takes connections on port 443.`
struct DoctorView: Equatable, Sendable {
  var palette: Palette
  /// Columns of the terminal; nil: as wide as it gets.
  var width: Int?

  /// - Parameter advice: as it is to be read, where that is not how the daemon words it.
  func lines(_ finding: RawJSONObject, advice: String? = nil) -> String {
    let verdict = finding.string("verdict") ?? "?"
    let step = finding.string("step") ?? "?"
    let head = palette.paint(Self.padded(verdict, 8), role(verdict)) + " " + Self.padded(step, 11)
    var text = head + " " + sentences(finding.string("seen") ?? "", nil) + "\n"
    if let advice = advice ?? finding.string("advice") {
      text += Self.margin + sentences(advice, role(verdict)) + "\n"
    }
    return text
  }

  /// Where the sentences begin.
  private static let margin = String(repeating: " ", count: 21)

  /// As many lines as the terminal needs for a text, the further ones below the first.
  private func sentences(_ text: String, _ role: Palette.Role?) -> String {
    let text = TextWidth.escaped(text)
    let room = width.map { max(TextWidth.leastLine, $0 - Self.margin.count) }
    let lines = room.map { TextWidth.lines(of: text, width: $0) } ?? [text]
    return lines.map { palette.paint($0, role) }.joined(separator: "\n" + Self.margin)
  }

  private static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  private func role(_ verdict: String) -> Palette.Role? {
    switch verdict {
    case "ok": .good
    case "warning": .waiting
    case "failed": .bad
    default: .faint
    }
  }
}
