import GatewayCore
import Glibc

/// Which files make up the configuration: one main file, and the `*.toml` of a folder after it.
struct ConfigurationFiles: Equatable {
  /// Nil: there is no place for one, and the defaults apply.
  var main: String?
  /// Whether a missing main file is a problem; otherwise the defaults apply.
  var isRequired = false
  /// Read in the order of the names' bytes; need not exist.
  var folder: String?

  /// `/etc/gatewayd/gatewayd.toml` and `/etc/gatewayd/gatewayd.d`.
  static let system = ConfigurationFiles(in: "/etc/gatewayd")

  /// One file alone, which has to exist: `--config FILE`.
  static func only(_ path: String) -> Self { Self(main: path, isRequired: true, folder: nil) }

  /// The same two names below `$XDG_CONFIG_HOME/gatewayd`, or `$HOME/.config/gatewayd`: `--user`. Relative paths in the
  /// variables are ignored, as the XDG base directory specification asks for.
  static func user(environment: (String) -> String?) -> Self {
    func absolute(_ name: String) -> String? { environment(name).flatMap { $0.hasPrefix("/") ? $0 : nil } }
    let base = absolute("XDG_CONFIG_HOME") ?? absolute("HOME").map { "\($0)/.config" }
    return base.map { Self(in: "\($0)/gatewayd") } ?? Self(main: nil, folder: nil)
  }

  private init(in folder: String) {
    self.init(main: "\(folder)/gatewayd.toml", folder: "\(folder)/gatewayd.d")
  }

  init(main: String?, isRequired: Bool = false, folder: String?) {
    self.main = main
    self.isRequired = isRequired
    self.folder = folder
  }

  /// The names of the folder's files with their paths, sorted; hidden files are passed over.
  func folderPaths() -> Result<[String], ConfigurationProblem> {
    guard let folder else { return .success([]) }
    do throws(SystemError) {
      let names = try FolderNames.list(folder).filter { $0.hasSuffix(".toml") && !$0.hasPrefix(".") }
      return .success(names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.map { "\(folder)/\($0)" })
    } catch {
      guard error.code != ENOENT else { return .success([]) }
      let reason = ConfigurationFile.reason(error.code)
      return .failure(ConfigurationProblem(file: folder, line: 0, message: "cannot be listed: \(reason)"))
    }
  }
}

/// One configuration file as it was found on disk.
struct ConfigurationFile {
  /// Why a file could not be read.
  enum Failure: Error, Equatable {
    case missing
    /// A sentence's predicate, such as `cannot be opened: Permission denied`.
    case unreadable(String)
  }

  var path: String
  var bytes: [UInt8]
  /// Permission bits.
  var mode: UInt32

  /// Reads a regular file of at most `TomlText.limit` bytes. Never waits: devices and pipes are refused.
  static func read(_ path: String) throws(Failure) -> Self {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else {
      if errno == ENOENT { throw .missing }
      throw .unreadable("cannot be opened: \(Self.reason(errno))")
    }
    defer { close(descriptor) }
    var facts = stat()
    guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
      throw .unreadable("is not a regular file")
    }
    return Self(path: path, bytes: try bytes(of: descriptor), mode: facts.st_mode & 0o7777)
  }

  /// The system's text, and what to do where that depends on the user.
  static func reason(_ code: Int32) -> String {
    let text = SystemError.text(of: code)
    return code == EACCES || code == EPERM ? text + "; let the user read it that gatewayd runs as" : text
  }

  private static func bytes(of descriptor: Int32) throws(Failure) -> [UInt8] {
    let limit = TomlText.limit
    var failure: Failure?
    let bytes = [UInt8](unsafeUninitializedCapacity: limit + 1) { buffer, count in
      while count < buffer.count {
        let read = Glibc.read(descriptor, buffer.baseAddress.map { $0 + count }, buffer.count - count)
        if read > 0 { count += read }
        if read == 0 { break }
        if read < 0, errno != EINTR {
          failure = .unreadable("cannot be read: \(SystemError.text(of: errno))")
          break
        }
      }
    }
    if let failure { throw failure }
    guard bytes.count <= limit else { throw .unreadable("is longer than \(limit) bytes") }
    return bytes
  }
}
