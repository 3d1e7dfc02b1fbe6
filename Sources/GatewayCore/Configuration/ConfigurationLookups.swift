/// What a configuration refers to and only the machine knows.
public protocol ConfigurationLookups: AnyObject {
  /// The id of the account; nil when there is none of that name.
  func userID(named name: String) -> UInt32?
  /// The id of the group; nil when there is none of that name.
  func groupID(named name: String) -> UInt32?
  /// Why the file cannot be read, such as `Permission denied`; nil when it can, and nil when it does not exist, because
  /// it may be made later.
  func obstacle(toReading path: String) -> String?
}
