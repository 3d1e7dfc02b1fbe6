/// How far the bytes that one transport was given have come. It can be asked after the transport was let go of, too, which
/// goes on writing for a while then.
public protocol WriteProgress: AnyObject {
  /// Bytes that it was given.
  var given: Int { get }
  /// How many of them the kernel, or with long-polling the server, has taken: the first ones.
  var taken: Int { get }
  /// Nothing more is taken.
  var isOver: Bool { get }
}
