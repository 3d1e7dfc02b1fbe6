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
  private var rows: [Row] = []

  init(_ titles: [String]) { self.titles = titles.map { Cell($0, .heading) } }

  var isEmpty: Bool { rows.isEmpty }

  mutating func add(_ cells: [Cell], notes: [Cell] = []) { rows.append(Row(cells: cells, notes: notes)) }

  /// The whole table, each line ending with a line feed. Columns are two spaces apart.
  func text(_ palette: Palette) -> String {
    let all = [Row(cells: titles, notes: [])] + rows
    let widths = titles.indices.map { column in
      all.map { column < $0.cells.count ? TextWidth.of($0.cells[column].text) : 0 }.max() ?? 0
    }
    var result = ""
    for row in all {
      for (column, cell) in row.cells.enumerated() {
        result += palette.paint(cell.text, cell.role)
        if column + 1 < row.cells.count {
          result += String(repeating: " ", count: widths[column] - TextWidth.of(cell.text) + 2)
        }
      }
      result += "\n"
      for note in row.notes { result += "  " + palette.paint(note.text, note.role) + "\n" }
    }
    return result
  }
}
