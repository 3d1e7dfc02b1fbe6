@testable import GatewayCore
import Glibc
import Testing

@testable import gatewayctl

/// The manual pages of the commands say what the table of commands says.
@Suite struct CommandPagesTests {
  private static let package = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
  /// With `GATEWAY_WRITE_DOCUMENTS` the test writes what it otherwise expects.
  private static let writes = getenv("GATEWAY_WRITE_DOCUMENTS") != nil

  private static func text(_ name: String) throws -> String {
    String(decoding: try InputFile.read("\(package)/\(name)"), as: UTF8.self)
  }

  /// The day of `gatewayctl(1)`, which is written by hand.
  private static func date() throws -> String {
    try #require(try text("docs/man/gatewayctl.1").split(separator: "\n").first { $0.hasPrefix(".Dd ") }).dropFirst(4)
      .description
  }

  @Test(arguments: CommandPage.all)
  func thePageIsWhatMakeDocumentsWrites(_ page: CommandPage) throws {
    let renewed = page.text(date: try Self.date())
    #expect(renewed.utf8.allSatisfy { $0 < 0x80 }, "a character that roff has another name for")
    if Self.writes {
      let file = try #require(fopen("\(Self.package)/\(page)", "w"))
      fputs(renewed, file)
      #expect(fclose(file) == 0)
    } else {
      let lines = try Self.text("\(page)").split(separator: "\n", omittingEmptySubsequences: false)
      let others = renewed.split(separator: "\n", omittingEmptySubsequences: false)
      #expect(zip(lines, others).first { $0 != $1 }.map { "\($0.0) → \($0.1)" } == nil, "run `make documents`")
      #expect(lines.count == others.count, "run `make documents`")
    }
  }

  @Test func everyCommandHasItsPlaceOnOnePage() {
    let named = CommandPage.all.flatMap(\.commands) + CommandPage.without
    #expect(named.map(\.rawValue).sorted() == CommandName.allCases.map(\.rawValue).sorted())
  }

  @Test func thePageOfTheProgramNamesThoseOfTheCommands() throws {
    let page = try Self.text("docs/man/gatewayctl.1")
    for other in CommandPage.all { #expect(page.contains("\n.Xr gatewayctl\\-\(other.name) 1")) }
  }
}
