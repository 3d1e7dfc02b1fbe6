import Glibc
import Testing

@testable import gatewayd

/// The documents say what the table of settings says.
@Suite struct SettingDocumentsTests {
  /// With `GATEWAY_WRITE_DOCUMENTS` the test writes what it otherwise expects.
  private static let writes = getenv("GATEWAY_WRITE_DOCUMENTS") != nil

  @Test(arguments: SettingDocuments.allCases)
  func theDocumentIsWhatMakeDocumentsWrites(_ document: SettingDocuments) throws {
    let lines = try Repository.lines(of: document.rawValue)
    let renewed = try document.renewed(lines)
    if Self.writes {
      try Repository.write(renewed, to: document.rawValue)
    } else {
      #expect(zip(lines, renewed).first { $0 != $1 }.map { "\($0.0) → \($0.1)" } == nil, "run `make documents`")
      #expect(lines.count == renewed.count, "run `make documents`")
    }
  }

  @Test func everySettingIsDescribedAndHasADefaultOrAnExample() {
    let settings = SettingDocuments.sections.flatMap(\.settings)
    #expect(settings.count > 100)
    #expect(settings.filter { $0.label.isEmpty || $0.summary.isEmpty }.map(\.name) == [])
    #expect(settings.filter { $0.standard == nil && $0.example == nil }.map(\.name) == [])
  }
}
