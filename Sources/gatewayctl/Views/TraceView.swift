import GatewayCore

/// One fact of a trace as a line for a person: `12:03:04.123 → socketio  EVENT chat (2 args, 58 bytes)`.
struct TraceView: Equatable, Sendable {
  var palette: Palette

  /// The line with its line feed, and the payload, if there is one, on a second.
  func line(_ fact: RawJSONObject) -> String {
    let text = TextWidth.escaped(fact.string("text") ?? "")
    let layer = fact.string("layer") ?? ""
    let arrow: String
    switch fact.string("direction") {
    case "in": arrow = "←"
    case "out": arrow = "→"
    default: arrow = " "
    }
    let time = palette.paint(fact.integer("time").flatMap { Int64($0) }.map(Clock.timeOfDay) ?? "", .faint)
    let padding = String(repeating: " ", count: max(0, 8 - layer.count))
    var line = "\(time) \(arrow) \(palette.paint(layer, .faint))\(padding) \(palette.paint(text, role(text, layer)))\n"
    if let payload = fact.string("payload") {
      line += "               \(palette.paint(TextWidth.escaped(payload), .faint))\n"
    }
    return line
  }

  private func role(_ text: String, _ layer: String) -> Palette.Role? {
    if ["CLOSED", "END", "CONNECT_ERROR"].contains(where: text.hasPrefix) { return .bad }
    if ["OPEN", "HANDSHAKE", "CONNECT "].contains(where: text.hasPrefix) { return .good }
    if layer.isEmpty { return .waiting }
    return layer == "engine" ? .faint : nil
  }
}
