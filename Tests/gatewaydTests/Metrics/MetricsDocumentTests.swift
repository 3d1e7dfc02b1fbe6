import Testing

@testable import GatewayCore
@testable import gatewayd

/// What `docs/metrics.md` says, against the table.
struct MetricsDocumentTests {
  @Test func theDocumentListsEveryMetric() throws {
    let rows = try Repository.lines(of: "docs/metrics.md").filter { $0.hasPrefix("| `gatewayd_") }
    #expect(
      rows == MetricsTable.daemon.map { Self.row($0, []) } + MetricsTable.upstream.map { Self.row($0, ["upstream"]) })
  }

  private static func row<Subject>(_ family: MetricFamily<Subject>, _ subject: [String]) -> String {
    let name = family.type == .counter ? family.name + "_total" : family.name
    let labels = (subject + family.labels).map { "`\($0)`" }.joined(separator: ", ")
    return "| `\(name)` | \(family.type.rawValue) | \(labels) | \(family.help) |"
  }
}
