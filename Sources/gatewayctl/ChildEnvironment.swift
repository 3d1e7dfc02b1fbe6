// The C library's `environ` is a global variable; this program has one thread.
@preconcurrency import Glibc

/// The environment of one command: what this program was given itself, and variables of the command's own in the place of
/// inherited ones of the same names. It is made for each command, and gone with its start.
struct ChildEnvironment {
  /// Longest `NAME=value` that Linux passes to a program, in bytes with the final NUL (`MAX_ARG_STRLEN`, 32 pages). One
  /// longer text makes the start fail as a whole.
  static let textLimit = 32 * sysconf(Int32(_SC_PAGESIZE))

  private let inherited: [UnsafeMutablePointer<CChar>]
  /// `NAME=value` each.
  private let own: [String]

  /// - Parameter variables: a value that is too long for an environment is left out.
  init(adding variables: [(name: String, value: String)]) {
    let prefixes = variables.map { $0.name + "=" }
    var inherited: [UnsafeMutablePointer<CChar>] = []
    var place: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = environ
    while let current = place, let text = current.pointee {
      if !prefixes.contains(where: { strncmp(text, $0, $0.utf8.count) == 0 }) { inherited.append(text) }
      place = current.successor()
    }
    self.inherited = inherited
    own = variables.map { "\($0.name)=\($0.value)" }.filter { $0.utf8.count < Self.textLimit }
  }

  /// Calls back with a vector that ends with nil and is valid until the call returns.
  func withVector<Result>(_ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> Result) -> Result {
    let copies = own.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    var vector = inherited.map { Optional($0) } + copies + [nil]
    return vector.withUnsafeMutableBufferPointer { body($0.baseAddress) }
  }
}
