/// One descriptor that the service manager passed at start.
struct PassedSocket: Equatable {
  var descriptor: Int32
  /// `FileDescriptorName=` of the socket unit.
  var name: String
  /// A Unix stream socket that listens.
  var isUnixListener: Bool

  /// The name that the daemon's socket unit gives.
  static let controlName = "control"

  /// Which of the passed descriptors to listen on: all that are named `control`, else the only Unix listener. Empty
  /// when nothing was passed; throws when something was passed that cannot be used.
  static func listeners(among passed: [PassedSocket]) throws(StartFailure) -> [Int32] {
    guard !passed.isEmpty else { return [] }
    let named = passed.filter { $0.name == controlName }
    guard named.allSatisfy(\.isUnixListener) else {
      throw StartFailure(
        .configuration,
        "the socket \u{201C}control\u{201D} from systemd is no listening Unix stream socket: "
          + "the unit needs ListenStream= with a path and Accept=no")
    }
    if !named.isEmpty { return named.map(\.descriptor) }
    let usable = passed.filter(\.isUnixListener)
    guard usable.count == 1 else {
      throw StartFailure(
        .configuration,
        "systemd passed \(usable.count) listening Unix stream sockets, none of them named control: "
          + "set FileDescriptorName=control in the socket unit")
    }
    return usable.map(\.descriptor)
  }
}
