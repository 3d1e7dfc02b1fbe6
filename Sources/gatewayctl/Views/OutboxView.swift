import GatewayCore

/// The durable sends that `outbox list` shows a person.
struct OutboxView {
  /// Milliseconds since 1970.
  let now: Int64
  let palette: Palette

  /// The table of raw entries. `isEverything`: no entry was left out by what was asked for.
  func table(_ entries: [[UInt8]], isEverything: Bool) -> String {
    var table = Table(["ID", "UPSTREAM", "EVENT", "STATE", "FOR", "EXPIRES IN", "ATTEMPTS", "REASON"])
    for bytes in entries {
      guard let entry = try? JSONValue.parse(bytes.span.bytes, limit: .max) else { continue }
      let state = entry["state"]?.stringValue ?? "?"
      let isQueued = state == OutboxState.queued.rawValue
      table.add([
        .init(entry["id"]?.stringValue ?? "?"),
        .init(entry["upstream"]?.stringValue ?? entry["url"]?.stringValue ?? "-"),
        .init(entry["event"]?.stringValue ?? "?"), .init(state, role(state)),
        .init(span(from: entry["created"]?.integerValue, to: Int(now))),
        .init(isQueued ? span(from: Int(now), to: entry["expires"]?.integerValue) : "-"),
        .init(entry["attempts"]?.integerValue.map(String.init) ?? "-"), .init(entry["reason"]?.stringValue ?? "-"),
      ])
    }
    guard table.isEmpty else { return table.text(palette) }
    return isEverything ? "nothing in the outbox\n" : "nothing of that in the outbox\n"
  }

  private func span(from start: Int?, to end: Int?) -> String {
    guard let start, let end else { return "-" }
    return DurationText.describe(milliseconds: Int64(max(0, end &- start)))
  }

  private func role(_ state: String) -> Palette.Role? {
    switch OutboxState(rawValue: state) {
    case .sent, .acked: .good
    case .queued: .waiting
    case .cancelled, nil: nil
    case .expired, .refused, .dropped, .lost: .bad
    }
  }
}
