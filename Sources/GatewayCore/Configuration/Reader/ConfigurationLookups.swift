/// What a configuration refers to and only the machine knows.
public protocol ConfigurationLookups: AnyObject {
  /// The id of the account; nil when there is none of that name.
  func userID(named name: String) -> UInt32?
  /// The id of the group; nil when there is none of that name.
  func groupID(named name: String) -> UInt32?
  /// Why the file cannot be read, such as `Permission denied`; nil when it can, and nil when it does not exist, because
  /// it may be made later, unless `demandsFiles`.
  func obstacle(toReading path: String) -> String?
  /// Whether files that are read later have to be there now, those with credentials too: for a check by a person.
  var demandsFiles: Bool { get }
}

extension ConfigurationLookups {
  /// A daemon starts without them: each is asked for when it is needed.
  public var demandsFiles: Bool { false }
}
