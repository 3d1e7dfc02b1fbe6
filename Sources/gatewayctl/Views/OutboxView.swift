import GatewayCore

/// The durable sends that `outbox list` shows a person.
struct OutboxView {
  /// Milliseconds since 1970.
  let now: Int64
  let palette: Palette
  /// The user that looks: sends of other users get a column that says whose they are.
  let uid: Int
  /// Columns of the terminal; nil: as wide as it gets.
  var width: Int?

  /// The table of raw entries. `isEverything`: no entry was left out by what was asked for.
  func table(_ entries: [[UInt8]], isEverything: Bool) -> String {
    let entries = entries.compactMap { try? JSONValue.parse($0.span.bytes, limit: .max) }
    let showsUser = entries.contains { $0["uid"]?.integerValue != uid }
    let titles = ["UPSTREAM", "EVENT", "STATE", "FOR", "EXPIRES", "TRIES", "REASON"]
    var table = Table(
      ["ID"] + (showsUser ? ["UID"] : []) + titles, elastic: ["UPSTREAM", "EVENT", "REASON"],
      expendable: ["TRIES", "EXPIRES", "FOR", "UID", "REASON", "EVENT", "UPSTREAM"])
    for entry in entries {
      let state = entry["state"]?.stringValue ?? "?"
      let isQueued = state == OutboxState.queued.rawValue
      let user = showsUser ? [Table.Cell(entry["uid"]?.integerValue.map(String.init) ?? "-")] : []
      table.add(
        [.init(entry["id"]?.stringValue ?? "?")] + user + [
          .init(entry["upstream"]?.stringValue ?? entry["url"]?.stringValue ?? "-"),
          .init(entry["event"]?.stringValue ?? "?"), .init(state, role(state)),
          .init(span(from: entry["created"]?.integerValue, to: Int(now))),
          .init(isQueued ? span(from: Int(now), to: entry["expires"]?.integerValue) : "-"),
          .init(entry["attempts"]?.integerValue.map(String.init) ?? "-"), .init(entry["reason"]?.stringValue ?? "-"),
        ])
    }
    guard table.isEmpty else { return table.text(palette, width: width) }
    return isEverything
      ? "nothing in the outbox, where durable sends are; 'gatewayctl status' shows what else waits\n"
      : "nothing of that in the outbox\n"
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
