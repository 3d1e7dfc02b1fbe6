/// Statements that write several rows of the outbox at once: one statement costs as much as some rows. Each is made when it is
/// needed first. Decision 0132.
final class OutboxInsertions {
  private let database: SQLiteDatabase
  private let isFresh: Bool
  /// How many rows each statement writes, the most first.
  private let sizes: [Int]
  private var statements: [SQLiteDatabase.Statement?]
  static let mostRows = 16

  /// With `isFresh` for rows of new numbers alone: any other is a conflict. Two rows that may be written over others go one by
  /// one: SQLite copies the pages that a statement for several changes, which only more of them are worth.
  init(_ database: SQLiteDatabase, isFresh: Bool) throws(SQLiteDatabase.Failure) {
    self.database = database
    self.isFresh = isFresh
    sizes = isFresh ? [Self.mostRows, 8, 4, 2, 1] : [Self.mostRows, 8, 4, 1]
    statements = sizes.map { _ in nil }
    // Whether there is such a table shows at once.
    _ = try largest(for: 1)
  }

  /// The statement that writes most of so many rows, at least one.
  func largest(for rows: Int) throws(SQLiteDatabase.Failure) -> (rows: Int, statement: SQLiteDatabase.Statement) {
    var place = 0
    while sizes[place] > rows { place += 1 }
    if let known = statements[place] { return (sizes[place], known) }
    let made = try database.prepare(OutboxRow.insertion(sizes[place], isFresh: isFresh))
    statements[place] = made
    return (sizes[place], made)
  }
}
