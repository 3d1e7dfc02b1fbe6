/// A reference that does not keep its object, to one that every message passes. A `weak` one does the same, but from the
/// first of them on all counts of the object's references are kept in a table beside it, where each costs three times as
/// much. The object makes it, and ends it when it goes. Only for what lives on the loop's thread. Decision 0067.
public final class LightReference<Object: AnyObject> {
  /// Nil before `begin` and after `end`.
  public private(set) unowned(unsafe) var object: Object?

  public init() {}

  public func begin(_ object: Object) { self.object = object }

  /// To be called by the object's `deinit`.
  public func end() { object = nil }
}
