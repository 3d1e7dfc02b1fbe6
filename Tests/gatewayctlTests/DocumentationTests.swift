@testable import GatewayCore
import Testing

@testable import gatewayctl

/// The manual page and the document say everything that the program can do.
@Suite struct DocumentationTests {
  /// A file of the package, found from this one.
  private func text(_ name: String) throws -> String {
    let package = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    return String(decoding: try InputFile.read("/\(package)/\(name)"), as: UTF8.self)
  }

  @Test func theManualPageNamesEverything() throws {
    let page = try text("docs/man/gatewayctl.1")
    for command in CommandTable.specifications {
      #expect(page.contains("\n.It Cm \(command.name.rawValue)"), "\(command.name)")
    }
    for option in CommandTable.specifications.flatMap(\.allOptions) {
      let name = option.name.rawValue.replacing("-", with: "\\-")
      let forms = option.short.map { ["Fl \($0) , \\-\(name)"] } ?? ["Fl \\-\(name)"]
      #expect(forms.contains { page.contains("\($0)\(option.value == nil ? "\n" : " ")") }, "\(option)")
    }
    for code in ExitCode.allCases { #expect(page.contains("\n.It \(code.rawValue)\n\(code.meaning.prefix(9))")) }
  }

  @Test func theDocumentNamesEverything() throws {
    let document = try text("docs/cli.md")
    for command in CommandTable.specifications {
      let forms = ["`\(command.name.rawValue) ", "`\(command.name.rawValue)`"]
      #expect(forms.contains { document.contains($0) }, "\(command.name)")
    }
    for option in CommandTable.specifications.flatMap(\.allOptions) {
      #expect(document.contains("--\(option.name.rawValue)"), "\(option)")
    }
    for code in ExitCode.allCases { #expect(document.contains("\n| \(code.rawValue) | ")) }
    for kind in LocalError.Kind.allCases {
      let row = document.split(separator: "\n").last { $0.hasPrefix("| \(ExitCode(kind).rawValue) | ") }
      #expect(row?.split(separator: "|").last?.contains(kind.rawValue) ?? false, "\(kind)")
    }
    for later in CommandTable.later { #expect(document.contains("`\(later.name)`")) }
  }
}
