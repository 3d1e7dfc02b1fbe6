import Testing

@testable import gatewayd

/// The examples of `docs/configuration.md` can be used. Its tables are written from what the program declares.
struct ConfigurationReferenceTests {
  private let lines: [String]

  init() throws { lines = try Repository.lines(of: "docs/configuration.md") }

  @Test func examplesAreValid() throws {
    var example: [String]?
    var count = 0
    for line in lines {
      if line == "```toml" {
        example = []
      } else if line == "```", let text = example {
        _ = try configure(text.joined(separator: "\n")).get()
        count += 1
        example = nil
      } else {
        example?.append(line)
      }
    }
    #expect(count >= 3)
  }
}
