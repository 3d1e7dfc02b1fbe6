/// Rows in aligned columns, for a terminal.
struct Table: Sendable {
  /// One field: its text without colour, and the colour.
  struct Cell: Equatable, Sendable {
    var text: String
    var role: Palette.Role?
    init(_ text: String, _ role: Palette.Role? = nil) {
      self.text = TextWidth.escaped(text)
      self.role = role
    }
  }

  /// A row, and lines that stand below it, indented.
  private struct Row: Sendable {
    var cells: [Cell]
    var notes: [Cell]
  }

  private let titles: [Cell]
  /// The columns that give way where the table is wider than the terminal.
  private let elastic: [Int]
  /// The last column is wrapped where the table is wider than the terminal.
  private let wrapped: Bool
  private var rows: [Row] = []

  /// - Parameters:
  ///   - elastic: the titles of columns whose long texts may be cut so that the table fits a terminal.
  ///   - wrapped: the last column has sentences, which go on below each other.
  init(_ titles: [String], elastic: [String] = [], wrapped: Bool = false) {
    self.titles = titles.map { Cell($0, .heading) }
    self.wrapped = wrapped
    self.elastic = titles.indices.filter { elastic.contains(titles[$0]) }
  }

  var isEmpty: Bool { rows.isEmpty }

  mutating func add(_ cells: [Cell], notes: [Cell] = []) { rows.append(Row(cells: cells, notes: notes)) }

  /// Columns between two columns of the table.
  private static let gap = 2
  /// An elastic column is not cut below this: less of a URL says nothing.
  private static let leastWidth = 16
  /// Nor is a wrapped one.
  private static let leastWrapped = 24

  /// The whole table, each line ending with a line feed, at most `width` columns wide as far as its elastic columns allow.
  func text(_ palette: Palette, width: Int? = nil) -> String {
    let all = [Row(cells: titles, notes: [])] + rows
    let widths = self.widths(of: all, within: width)
    var result = ""
    for row in all {
      result += line(row.cells, widths, palette)
      for note in row.notes {
        for line in width.map({ TextWidth.lines(of: note.text, width: $0 - 2) }) ?? [note.text] {
          result += "  " + palette.paint(line, note.role) + "\n"
        }
      }
    }
    return result
  }

  private func line(_ cells: [Cell], _ widths: [Int], _ palette: Palette) -> String {
    var result = ""
    for (column, cell) in cells.enumerated() {
      guard column + 1 < cells.count || !wrapped else {
        let indent = widths.dropLast().reduce(0) { $0 + $1 + Self.gap }
        let lines = TextWidth.lines(of: cell.text, width: widths[column]).map { palette.paint($0, cell.role) }
        return result + lines.joined(separator: "\n" + String(repeating: " ", count: indent)) + "\n"
      }
      let text = TextWidth.elided(cell.text, to: widths[column])
      result += palette.paint(text, cell.role)
      if column + 1 < cells.count {
        result += String(repeating: " ", count: widths[column] - TextWidth.of(text) + Self.gap)
      }
    }
    return result + "\n"
  }

  private func widths(of rows: [Row], within limit: Int?) -> [Int] {
    var widths = titles.indices.map { column in
      rows.map { column < $0.cells.count ? TextWidth.of($0.cells[column].text) : 0 }.max() ?? 0
    }
    guard let limit else { return widths }
    var excess = widths.reduce(Self.gap * (widths.count - 1), +) - limit
    if wrapped, excess > 0, let last = widths.indices.last {
      let taken = min(excess, max(0, widths[last] - Self.leastWrapped))
      widths[last] -= taken
      excess -= taken
    }
    // The widest gives way first.
    while excess > 0, let widest = elastic.max(by: { widths[$0] < widths[$1] }) {
      let least = max(Self.leastWidth, TextWidth.of(titles[widest].text))
      guard widths[widest] > least else { break }
      widths[widest] -= 1
      excess -= 1
    }
    return widths
  }
}
