import CLinux
import Glibc

/// Blocks of the disk for what is added to the outbox, taken before it is added: what stands in the write-ahead log can
/// always move to the file then, so that a disk that has become full takes outcomes all the same, and has room again when
/// the sends have left. Decision 0137.
final class OutboxRoom {
  /// The file, open beside SQLite's own descriptor for it. To close any of them ends the locks that the process has on it.
  private final class OpenFile {
    let descriptor: Int32

    init(_ path: String) { descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW) }

    deinit { if descriptor >= 0 { close(descriptor) } }
  }

  /// Pages that the file has, and those of them that are free.
  private let pageCount: SQLiteDatabase.Statement
  private let freeCount: SQLiteDatabase.Statement
  /// Behind the statements, with whose end the database is closed.
  private let file: OpenFile
  /// Up to here the file has blocks, in bytes.
  private var end = 0
  /// What can be added before it has to be looked again, in bytes.
  private var left = 0
  /// Something was refused, and there is not much more room than there was then.
  private var isRefusing = false
  /// The least that was refused in this transaction, in bytes.
  private var refused = Int.max
  /// Where the file system cannot do it, nothing is reserved.
  private var isPossible: Bool
  /// Gives an open file blocks up to an offset; not 0: it does not, and `errno` says why.
  typealias Reserve = (Int32, off_t) -> Int32
  private let reserve: Reserve

  /// Why nothing can be added; no other attempt is worth it now.
  static let refusal = SQLiteDatabase.Failure.full("the disk has no room for what is added")

  private static let pageSize = 4_096
  /// What is reserved at once, as long as the disk has so much; then less.
  private static let steps = [4 << 20, 256 << 10, 16 << 10]
  /// For outcomes that make a row longer, and for the pages that find others.
  private static let slack = 64 << 10
  /// How much has to be free, where something was refused, for anything to be taken again; less where little is kept. Who
  /// sends little is not told something else than who sends much, and not at each attempt something else.
  private static let enough = 2 << 20

  init(_ database: SQLiteDatabase, path: String, _ reserve: @escaping Reserve) throws(SQLiteDatabase.Failure) {
    self.reserve = reserve
    pageCount = try database.prepare("PRAGMA page_count")
    freeCount = try database.prepare("PRAGMA freelist_count")
    file = OpenFile(path)
    isPossible = file.descriptor >= 0
  }

  /// A transaction begins: what was refused in the one before may have room now.
  func begin() { refused = .max }

  /// A row may leave as much of a page unused as it takes, but for a few bytes.
  private static func need(_ size: Int) -> Int { 2 * size + 256 }

  /// Takes room for an entry of so many bytes. A failure says that the disk is full.
  func take(_ size: Int) throws(SQLiteDatabase.Failure) {
    let need = Self.need(size)
    if need > left { try look(need) }
    left -= need
  }

  /// Takes room for so many bytes more, if there is. After a refusal the disk is not asked again in the same transaction.
  func has(_ size: Int) throws(SQLiteDatabase.Failure) -> Bool {
    guard Self.need(size) < refused else { return false }
    do throws(SQLiteDatabase.Failure) { try take(size) } catch {
      guard error == Self.refusal else { throw error }
      return false
    }
    return true
  }

  /// The log has moved to the file, or tried to: SQLite has cut the file to its size then, and with that given back what stood
  /// behind it.
  func logMoved() { (end, left) = (0, 0) }

  private func look(_ need: Int) throws(SQLiteDatabase.Failure) {
    guard isPossible else { return left = .max }
    let used = (try number(pageCount) - number(freeCount)) * Self.pageSize + Self.slack
    left = end - used
    let least = isRefusing ? max(need, min(used / 2, Self.enough)) : need
    for step in Self.steps where left < least {
      let wanted = used + max(least, step)
      if reserve(file.descriptor, off_t(wanted)) == 0 {
        end = wanted
        left = end - used
      } else if ![ENOSPC, EDQUOT, EFBIG, EINTR].contains(errno) {
        isPossible = false
        left = .max
      }
    }
    isRefusing = left < least
    guard !isRefusing else {
      (left, refused) = (0, min(refused, need))
      throw Self.refusal
    }
  }

  private func number(_ statement: SQLiteDatabase.Statement) throws(SQLiteDatabase.Failure) -> Int {
    defer { statement.reset() }
    return try statement.step() ? Int(statement.integer(0)) : 0
  }
}
