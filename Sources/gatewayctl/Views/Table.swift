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
  /// The columns that are left out where it still is, the least important one first.
  private let expendable: [Int]
  /// The last column is wrapped where the table is wider than the terminal.
  private let wrapped: Bool
  private var rows: [Row] = []

  /// - Parameters:
  ///   - elastic: the titles of columns whose long texts may be cut so that the table fits a terminal.
  ///   - expendable: the titles of columns that are left out where that is not enough, the least important one first.
  ///   - wrapped: the last column has sentences, which go on below each other.
  init(_ titles: [String], elastic: [String] = [], expendable: [String] = [], wrapped: Bool = false) {
    self.titles = titles.map { Cell($0, .heading) }
    self.wrapped = wrapped
    self.elastic = elastic.compactMap { titles.firstIndex(of: $0) }
    self.expendable = expendable.compactMap { titles.firstIndex(of: $0) }
  }

  var isEmpty: Bool { rows.isEmpty }

  /// Adds a row, with notes below it.
  mutating func add(_ cells: [Cell], notes: [Cell] = []) { rows.append(Row(cells: cells, notes: notes)) }

  /// Columns between two columns of the table.
  private static let gap = 2
  /// An elastic column is not cut below this: less of a URL says nothing.
  private static let leastWidth = 12
  /// Nor is a wrapped one.
  private static let leastWrapped = TextWidth.leastLine
  /// A table is not made narrower: a narrower terminal wraps its lines.
  private static let leastTable = 40

  /// The whole table, each line ending with a line feed, at most `width` columns wide.
  func text(_ palette: Palette, width: Int? = nil) -> String {
    let all = [Row(cells: titles, notes: [])] + rows
    let widths = self.widths(of: all, within: width.map { max($0, Self.leastTable) })
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

  private func line(_ cells: [Cell], _ widths: [Int?], _ palette: Palette) -> String {
    var result = ""
    // Where the cell begins, and where the text in front of it ends.
    var (start, end) = (0, 0)
    for (column, cell) in cells.enumerated() {
      guard let width = widths[column] else { continue }
      result += String(repeating: " ", count: start - end)
      guard column + 1 < titles.count || !wrapped else {
        let lines = TextWidth.lines(of: cell.text, width: width).map { palette.paint($0, cell.role) }
        return result + lines.joined(separator: "\n" + String(repeating: " ", count: start)) + "\n"
      }
      let text = TextWidth.elided(cell.text, to: width)
      result += palette.paint(text, cell.role)
      end = start + TextWidth.of(text)
      start += width + Self.gap
    }
    return result + "\n"
  }

  /// The width of each column; nil for one that is left out.
  private func widths(of rows: [Row], within limit: Int?) -> [Int?] {
    var widths: [Int?] = titles.indices.map { column in
      rows.map { column < $0.cells.count ? TextWidth.of($0.cells[column].text) : 0 }.max() ?? 0
    }
    guard let limit else { return widths }
    for column in expendable {
      let fitting = narrowed(widths, to: limit)
      guard Self.total(fitting) > limit else { return fitting }
      widths[column] = nil
    }
    widths = narrowed(widths, to: limit)
    // What is left is what tells the rows apart.
    if let first = widths[0] { widths[0] = max(1, first - max(0, Self.total(widths) - limit)) }
    return widths
  }

  /// The widths with those that can give way as small as the limit needs.
  private func narrowed(_ widths: [Int?], to limit: Int) -> [Int?] {
    var widths = widths
    var excess = Self.total(widths) - limit
    if wrapped, excess > 0, let last = widths.indices.last, let width = widths[last] {
      let taken = min(excess, max(0, width - Self.leastWrapped))
      widths[last] = width - taken
      excess -= taken
    }
    // The widest gives way first.
    while excess > 0, let widest = elastic.max(by: { widths[$0] ?? 0 < widths[$1] ?? 0 }), let width = widths[widest],
      width > max(Self.leastWidth, TextWidth.of(titles[widest].text))
    {
      widths[widest] = width - 1
      excess -= 1
    }
    return widths
  }

  private static func total(_ widths: [Int?]) -> Int {
    widths.reduce(-gap) { $0 + ($1.map { $0 + gap } ?? 0) }
  }
}

extension Palette {
  /// Texts beside each other, on as many lines of at most `width` columns as they need.
  func list(_ parts: [Table.Cell], width: Int?) -> String {
    var text = ""
    var filled = 0
    for part in parts {
      let own = TextWidth.of(part.text)
      let fits = filled + 2 + own <= width ?? .max
      if filled > 0 { text += fits ? "  " : "\n" }
      filled = filled > 0 && fits ? filled + 2 + own : own
      text += paint(part.text, part.role)
    }
    return text + "\n"
  }
}
