@testable import GatewayCore
import Testing

@testable import gatewayd

/// What stands in a file but cannot be a configuration, whatever the settings are.
struct ConfigurationTextTests {
  static let broken = [
    BrokenConfiguration("a = ", "g.toml:1: syntax error in key-value pair: encountered end-of-file"),
    BrokenConfiguration(
      "[log]\nlevel = \"info\"\nlevel = \"debug\"\n",
      "g.toml:3: syntax error in key-value pair: cannot redefine existing string 'level'"),
    BrokenConfiguration(
      "[log]\n\n[log]\n", "g.toml:3: syntax error in table header: cannot redefine existing table 'log'"),
    BrokenConfiguration("[log\n", "g.toml:1: syntax error in table header: expected ']', saw '\\n'"),
    BrokenConfiguration("\n[=]\n", "g.toml:2: syntax error: the line is not valid TOML"),
    BrokenConfiguration(
      "[socket]\nmode = 0660\n", "g.toml:2: syntax error in decimal integer: leading zeroes are prohibited"),
    BrokenConfiguration(
      "[log]\nlevel = info\n",
      "g.toml:2: syntax error in floating-point: expected value-terminator, saw 'o'; text needs quotes"),
    BrokenConfiguration(
      "[upstream.a]\nkeep = on-demand\n",
      "g.toml:2: syntax error in value: could not determine value type; text needs quotes"),
    BrokenConfiguration(
      "[limits]\n\nstop = 30s\n",
      "g.toml:3: syntax error in decimal integer: expected digit, saw 's'; text needs quotes"),
    BrokenConfiguration(
      "[log]\nlevel = \"\u{7}\"\n",
      "g.toml:2: syntax error in string: it is not closed on its line, or holds a control character"),
    BrokenConfiguration(
      "[log]\nlevel = 'info\n",
      "g.toml:2: syntax error in literal string: it is not closed on its line, or holds a control character"),
    BrokenConfiguration("l\u{e9}vel = 1\n", "g.toml:1: syntax error in key-value pair: expected '=', saw '\u{e9}'"),
    BrokenConfiguration(
      "x = {a = 1,}\n",
      "g.toml:1: syntax error in inline table: expected key-value pair, saw closing '}' (dangling comma)"),
    BrokenConfiguration(
      "x = 1979-13-01\n", "g.toml:1: syntax error in date: expected month between 1 and 12 (inclusive), saw 13"),
    BrokenConfiguration(
      "x = 99999999999999999999\n",
      "g.toml:1: syntax error in decimal integer: '99999999999999999999' is not representable in 64 bits"),
    BrokenConfiguration(
      "x = 1 y = 2", "g.toml:1: syntax error in key-value pair: expected a comment or whitespace, saw 'y'"),
    BrokenConfiguration(
      "x = 1\u{e9}\n", "g.toml:1: syntax error in decimal integer: expected digit, saw '\u{e9}'; text needs quotes"),
    BrokenConfiguration(
      "= 1", "g.toml:1: syntax error in root table: expected keys, tables, whitespace or comments, saw '='"),
    BrokenConfiguration(
      "x = \(String(repeating: "[", count: 25))",
      "g.toml:1: syntax error in value: exceeded maximum nested value depth of 24"),
    BrokenConfiguration(
      "x\(String(repeating: ".x", count: 30)) = 1",
      "g.toml:1: syntax error: tables and arrays nest deeper than 24 levels"),
    BrokenConfiguration(
      "\nx\(String(repeating: ".x", count: 300)) = 1", "g.toml:2: syntax error: the line has more than 256 dots"),
  ]

  @Test(arguments: broken)
  func syntaxErrorIsNamedWithItsLine(_ broken: BrokenConfiguration) {
    #expect(problems(broken.text) == broken.problems)
  }

  @Test func bytesThatAreNoUTF8AreRefusedWithTheirLine() {
    let problem = ConfigurationProblem(
      file: "g.toml", line: 2, column: 5, message: "syntax error: encountered invalid utf-8 sequence")
    #expect(TomlText.parse(Array("\na = \"".utf8) + [0xff, 0x22], file: "g.toml") == .failure(problem))
  }

  @Test func longerTextThanTheLimitIsRefusedAsAWhole() {
    let text = [UInt8](repeating: UInt8(ascii: "\n"), count: TomlText.limit + 1)
    let problem = ConfigurationProblem(
      file: "g.toml", line: 0, message: "syntax error: the text is longer than 1048576 bytes")
    #expect(TomlText.parse(text, file: "g.toml") == .failure(problem))
    #expect(TomlText.parse(Array(text.dropLast()), file: "g.toml") == .success(tree([])))
  }

  private static let dots = String(repeating: ".", count: 300)

  @Test(arguments: [
    "x = 1 # \(dots)", #"x = "\""# + dots + "\"", "x = '\(dots)\\'", "x = \"\"\"\\\n\"\"\(dots)\"\"\"\"\"",
    "x = '''\n''\(dots)\n#''''", "\"\(dots)\" = 1", "x = ['', \"\", '\(dots)', \"\(dots)\"]",
  ])
  func dotsInStringsAndCommentsAreNoPartsOfAKey(_ text: String) {
    guard case .success = TomlText.parse(Array(text.utf8), file: "g.toml") else {
      Issue.record("refused: \(problems(text))")
      return
    }
  }

  /// The parser would free a table for each of them by a call inside a call.
  @Test(arguments: [
    "y = \"\"\nx", "y = '' # \"\nx", "y = \"\"\"\n\"\"\"\"\"\nx", "y = '''\n\\'''\nx", #"y = "\\""# + "\nx",
    "y = '\\'\nx", "y = \"\nx", "y = \"\\\nx", "y = { z = '''\n''', x",
  ])
  func dotsOfAKeyBehindAStringAreCounted(_ before: String) {
    let line = before.count { $0 == "\n" } + 1
    let key = before + String(repeating: ".x", count: 300)
    #expect(problems("\(key) = 1") == "g.toml:\(line): syntax error: the line has more than 256 dots")
  }

  @Test func textOfNoBytesIsAnEmptyTable() {
    #expect(TomlText.parse([], file: "g.toml") == .success(tree([])))
  }

  @Test func everyTypeKeepsItsValueAndItsPlace() {
    let text = """
      b.a = "é\\n"
      c = [1, 2.5]
      t = { x = true, y = 1e3 }
      d = 1979-05-27
      e = 07:32:00
      f = 1979-05-27T07:32:00Z
      g = -inf
      [[h]]
      [[h]]
      """
    #expect(
      TomlText.parse(Array(text.utf8), file: "g.toml")
        == .success(
          tree([
            entry("b", 1, 1, 1, .table([entry("a", 1, 3, 7, .string("é\n"))])),
            entry("c", 2, 1, 5, .array([node(2, 6, .integer(1)), node(2, 9, .float("2.5"))])),
            entry(
              "t", 3, 1, 5, .table([entry("x", 3, 7, 11, .boolean(true)), entry("y", 3, 17, 21, .float("1000.0"))])),
            entry("d", 4, 1, 5, .date),
            entry("e", 5, 1, 5, .time),
            entry("f", 6, 1, 5, .dateAndTime),
            entry("g", 7, 1, 5, .float("-inf")),
            entry("h", 8, 3, 1, .array([node(8, 1, .table([])), node(9, 1, .table([]))])),
          ])))
  }

  private func tree(_ entries: [ConfigurationEntry]) -> ConfigurationTree {
    ConfigurationTree(file: "g.toml", root: node(1, 1, .table(entries)))
  }

  private func node(_ line: Int, _ column: Int, _ value: ConfigurationNode.Value) -> ConfigurationNode {
    ConfigurationNode(at: TextPosition(line: line, column: column), value)
  }

  private func entry(_ key: String, _ line: Int, _ keyColumn: Int, _ column: Int, _ value: ConfigurationNode.Value)
    -> ConfigurationEntry
  {
    ConfigurationEntry(key, at: TextPosition(line: line, column: keyColumn), node(line, column, value))
  }
}
