/// Statements that write several rows of the outbox at once: one statement costs as much as some rows. Each is made when it is
/// needed first. Decision 0132.
final class OutboxInsertions {
  private let database: SQLiteDatabase
  static let mostRows = 16
  /// How many rows each statement writes, the most first.
  private let sizes = [mostRows, 8, 4, 2, 1]
  private var statements: [SQLiteDatabase.Statement?]

  init(_ database: SQLiteDatabase) throws(SQLiteDatabase.Failure) {
    self.database = database
    statements = sizes.map { _ in nil }
    // Whether there is such a table shows at once.
    _ = try largest(for: 1)
  }

  /// The statement that writes most of so many rows, at least one.
  func largest(for rows: Int) throws(SQLiteDatabase.Failure) -> (rows: Int, statement: SQLiteDatabase.Statement) {
    var place = 0
    while sizes[place] > rows { place += 1 }
    if let known = statements[place] { return (sizes[place], known) }
    let made = try database.prepare(OutboxRow.insertion(sizes[place]))
    statements[place] = made
    return (sizes[place], made)
  }
}
