/// Why the outbox, or a history, cannot be kept on disk.
public struct StorageProblem: Error, Equatable, Sendable {
  public enum Kind: String, CaseIterable, Sendable {
    /// There is no usable state folder, or what is in it is another user's.
    case folder
    /// Another daemon has the folder.
    case locked
    /// The disk, or the quota, is used up.
    case full
    /// The disk takes no writes.
    case readOnly = "read_only"
    /// The files are not what they should be.
    case damaged
    /// The files were written by a later version.
    case future
    /// Anything else that the system says.
    case failed
  }

  /// What may be wrong with a history: it is repaired rather than refused, and its folder is that of the outbox.
  static let ofHistories: [Kind] = [.folder, .full, .readOnly, .failed]

  public var kind: Kind
  /// One sentence for a person, without a full stop.
  public var message: String

  public init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }

  /// What is to keep something has said nothing for as long as the caller waits.
  static let late = Self(.failed, "what keeps it did not answer in time")

  /// The daemon was given no store.
  public static let none = StorageProblem(.folder, "this gateway was started without a state folder")
}
