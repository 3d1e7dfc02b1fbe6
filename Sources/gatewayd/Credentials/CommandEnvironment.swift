import GatewayCore
import Glibc

/// Where a command that prints credentials is found, and what it gets to know: little, always the same, no secret.
struct CommandEnvironment: Equatable {
  /// Where a program that is named without a path is looked for; also the command's `PATH`.
  static let folders = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]
  /// Variables of the daemon that are passed on, where they are set: what a program needs to find its own files, the
  /// service's credentials, and the secrets of the user's session.
  static let passedOn = [
    "HOME", "USER", "LOGNAME", "TZ", "CREDENTIALS_DIRECTORY", "STATE_DIRECTORY", "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
  ]

  private let common: [String]

  init(_ environment: (String) -> String?) {
    common =
      ["PATH=" + Self.folders.joined(separator: ":"), "LANG=C.UTF-8"]
      + Self.passedOn.compactMap { name in environment(name).map { "\(name)=\($0)" } }
  }

  /// `NAME=value` for each variable.
  func variables(for request: SecretRequest) -> [String] {
    common + ["GATEWAYD_UPSTREAM=\(request.upstream ?? "")", "GATEWAYD_URL=\(request.url)"]
  }

  /// The path of a program: itself, or the first one of its name that can be run. Otherwise why there is none.
  static func locate(_ program: String) throws(CredentialProblem) -> String {
    guard !program.contains("/") else { return program }
    var isThere = false
    for folder in folders {
      let path = "\(folder)/\(program)"
      if access(path, X_OK) == 0 { return path }
      if access(path, F_OK) == 0 { isThere = true }
    }
    let why = isThere ? "is not executable" : "was not found in \(folders.joined(separator: ":"))"
    throw CredentialProblem("the command \(program) \(why)")
  }
}
