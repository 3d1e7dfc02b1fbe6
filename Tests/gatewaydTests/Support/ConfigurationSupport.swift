import Glibc
import Testing

@testable import GatewayCore
@testable import gatewayd

/// A machine with a few accounts, and with files that cannot be read.
final class FakeLookups: ConfigurationLookups {
  private let users: [String: UInt32] = ["ann": 1001, "backup": 34, "root": 0]
  private let groups: [String: UInt32] = ["ops": 27, "gateway": 990, "root": 0]
  private let obstacles = ["/etc/secret.key": "Permission denied", "/etc": "Is a directory"]

  func userID(named name: String) -> UInt32? { users[name] }
  func groupID(named name: String) -> UInt32? { groups[name] }
  func obstacle(toReading path: String) -> String? { obstacles[path] }
}

/// What the files say, read in this order.
func configure(_ files: [(name: String, text: String)]) -> Result<Configuration, ConfigurationProblems> {
  var builder = ConfigurationBuilder(lookups: FakeLookups(), urls: CurlURLReader(), kinds: .all)
  for file in files {
    switch TomlText.parse(Array(file.text.utf8), file: file.name) {
    case .success(let tree): builder.add(tree)
    case .failure(let problem): builder.add(problem)
    }
  }
  return builder.build()
}

/// What one file says.
func configure(_ text: String) -> Result<Configuration, ConfigurationProblems> { configure([("g.toml", text)]) }

/// The problems of one file, one per line.
func problems(_ text: String) -> String { problems([("g.toml", text)]) }

/// The problems of all files, one per line.
func problems(_ files: [(name: String, text: String)]) -> String {
  switch configure(files) {
  case .success: "valid"
  case .failure(let problems): problems.description
  }
}

/// The upstream `a` that the URL `http://h` stands for in these tests.
func upstream(_ change: (inout UpstreamSettings) -> Void = { _ in }) -> ConfiguredUpstream {
  var settings = UpstreamSettings()
  change(&settings)
  return ConfiguredUpstream(url: UpstreamURL(scheme: "http", host: "h"), settings: settings)
}

/// One broken configuration, and everything that has to be said about it.
struct BrokenConfiguration: CustomTestStringConvertible, Sendable {
  let text: String
  let problems: String

  init(_ text: String, _ problems: String...) {
    self.text = text
    self.problems = problems.joined(separator: "\n")
  }

  var testDescription: String { problems }
}

/// Files of the project that tests compare the program with, by their paths from the project's top.
enum Repository {
  private static let top = #filePath.split(separator: "/").dropLast(4).map { "/\($0)" }.joined()

  static func lines(of path: String) throws -> [String] {
    let text = String(decoding: try ConfigurationFile.read("\(top)/\(path)").bytes, as: UTF8.self)
    return text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  static func write(_ lines: [String], to path: String) throws {
    guard let file = fopen("\(top)/\(path)", "w") else { throw SystemError("write \(path)") }
    fputs(lines.joined(separator: "\n"), file)
    guard fclose(file) == 0 else { throw SystemError("write \(path)") }
  }
}
