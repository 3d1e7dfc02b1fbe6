import GatewayCore

/// One finding as lines for a person: `  ok       tcp         10.0.0.1 takes connections on port 443.`
struct DoctorView: Equatable, Sendable {
  var palette: Palette

  func lines(_ finding: RawJSONObject) -> String {
    let verdict = finding.string("verdict") ?? "?"
    let step = finding.string("step") ?? "?"
    let head = palette.paint(Self.padded(verdict, 8), role(verdict)) + " " + Self.padded(step, 11)
    var text = "\(head) \(TextWidth.escaped(finding.string("seen") ?? ""))\n"
    if let advice = finding.string("advice") {
      text += "\(Self.padded("", 20)) \(palette.paint(TextWidth.escaped(advice), role(verdict)))\n"
    }
    return text
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
