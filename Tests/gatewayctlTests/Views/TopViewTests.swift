import GatewayCore
import Testing

@testable import gatewayctl

/// A page of `top`.
@Suite struct TopViewTests {
  private func view(_ connections: String) throws -> TopView {
    let text = Array(#"{"daemon":{"instance":"i"},"connections":[\#(connections)]}"#.utf8)
    return TopView(
      stats: try JSONValue.parse(text.span.bytes), before: nil, status: nil, palette: Palette(isColored: false),
      width: nil)
  }

  @Test func theLinkThatAHostHoldsIsNotTakenForWhatItsProgramsUse() throws {
    func connection(_ id: String, _ role: String) -> String {
      #"{"connection":"\#(id)","upstream":"chat","namespace":"/ops","state":"connected","role":"\#(role)"}"#
    }
    let rows = try view(connection("1", "follower") + "," + connection("2", "holder")).rows()
    #expect(rows.map(\.name) == ["chat /ops", "chat /ops (link)"])
  }
}
