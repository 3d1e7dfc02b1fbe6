@testable import GatewayCore
import Glibc
import Testing

@testable import gatewayd

@Suite struct StateFolderTests {
  private func choice(
    _ environment: [String: String], configured: String? = nil, user: Bool = false
  ) -> StateFolder.Choice {
    .resolve(configured: configured, user: user) { environment[$0] }
  }

  @Test func firstNamedFolderWins() {
    let all = ["STATE_DIRECTORY": "/s/a:/s/b", "XDG_STATE_HOME": "/x", "HOME": "/h"]
    #expect(choice(all, configured: "/c") == .init(path: "/s/a", isNamed: true))
    #expect(choice(["STATE_DIRECTORY": "", "HOME": "/h"], configured: "/c") == .init(path: "/c", isNamed: true))
    #expect(choice(["XDG_STATE_HOME": "/x"]) == .init(path: "/x/gatewayd", isNamed: false))
    #expect(choice(["XDG_STATE_HOME": "/x"], user: true) == .init(path: "/x/gatewayd", isNamed: true))
    #expect(choice(["HOME": "/h"], user: true) == .init(path: "/h/.local/state/gatewayd", isNamed: false))
    #expect(choice(["HOME": "/h"]) == .init(path: "/var/lib/gatewayd", isNamed: false))
  }

  @Test func folderIsMadeForItsOwnerAlone() throws {
    let directory = try TemporaryDirectory()
    let path = directory / "state"
    do {
      let folder = try StateFolder(path)
      var facts = stat()
      #expect(stat(folder.path, &facts) == 0 && facts.st_mode & 0o777 == 0o700)
    }
    unlink(path + "/lock")
    rmdir(path)
  }

  @Test func twoDaemonsNeverShareAFolder() throws {
    let directory = try TemporaryDirectory()
    let first = try StateFolder(directory.path)
    let problem = StorageProblem(
      .locked,
      "another gatewayd uses the state folder \(directory.path): stop it, "
        + "or name another folder in $STATE_DIRECTORY or state.path")
    #expect(throws: problem) { _ = try StateFolder(directory.path) }
    #expect(first.path == directory.path)
  }

  @Test func lockEndsWithItsHolder() throws {
    let directory = try TemporaryDirectory()
    do { _ = try StateFolder(directory.path) }
    #expect(try StateFolder(directory.path).path == directory.path)
  }

  @Test func fileInTheWayIsNamed() throws {
    let directory = try TemporaryDirectory()
    OutboxSamples.write([], to: directory / "file")
    let problem = StorageProblem(.folder, "cannot use \(directory / "file") as the state folder: it is no folder")
    #expect(throws: problem) { _ = try StateFolder(directory / "file") }
  }
}
