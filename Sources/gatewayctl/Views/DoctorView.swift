import GatewayCore

/// One finding as lines for a person: `ok       tcp         10.0.0.1 takes connections on port 443.`
struct DoctorView: Equatable, Sendable {
  var palette: Palette
  /// Columns of the terminal; nil: as wide as it gets.
  var width: Int?
  /// Columns of the names of steps: wider where the examination has longer ones.
  private var nameWidth = 11

  init(palette: Palette, width: Int? = nil) { (self.palette, self.width) = (palette, width) }

  /// A step of that name comes. Of an upstream that hosts share those of the fleet come first.
  private mutating func noteStep(_ name: String) {
    let names = DoctorStep(rawValue: name)?.isOfFleet == true ? DoctorStep.allCases.map(\.rawValue) : [name]
    nameWidth = names.reduce(nameWidth) { max($0, $1.count) }
  }

  /// - Parameter advice: as it is to be read, where that is not how the daemon words it.
  mutating func lines(_ finding: RawJSONObject, advice: String? = nil) -> String {
    let verdict = finding.string("verdict") ?? "?"
    let step = finding.string("step") ?? "?"
    noteStep(step)
    let head =
      palette.paint(Self.padded(verdict, Self.verdictWidth), role(verdict)) + " " + Self.padded(step, nameWidth)
    var text = head + " " + sentences(finding.string("seen") ?? "", nil) + "\n"
    if let advice = advice ?? finding.string("advice") {
      text += margin + sentences(advice, role(verdict)) + "\n"
    }
    return text
  }

  private static let verdictWidth = 8

  /// Where the sentences begin.
  private var margin: String { String(repeating: " ", count: Self.verdictWidth + 1 + nameWidth + 1) }

  /// As many lines as the terminal needs for a text, the further ones below the first.
  private func sentences(_ text: String, _ role: Palette.Role?) -> String {
    let text = TextWidth.escaped(text)
    let room = width.map { max(TextWidth.leastLine, $0 - margin.count) }
    let lines = room.map { TextWidth.lines(of: text, width: $0) } ?? [text]
    return lines.map { palette.paint($0, role) }.joined(separator: "\n" + margin)
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
