import Glibc
@testable import GatewayCore
import Testing

@testable import gatewayd

/// Real files in a folder of their own.
final class ConfigurationFilesTests {
  private let folder: String
  /// What has to be removed at the end.
  private var made: [String] = []

  init() throws {
    var template = "/tmp/gatewayd-test-XXXXXX".utf8CString.map { $0 }
    let path = template.withUnsafeMutableBufferPointer { buffer in
      buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
    }
    folder = try #require(path)
    try #require(mkdir("\(folder)/gatewayd.d", 0o755) == 0)
  }

  deinit {
    for path in made { unlink(path) }
    rmdir("\(folder)/gatewayd.d")
    rmdir(folder)
  }

  private func write(_ name: String, _ text: String, mode: mode_t = 0o600) throws {
    let path = "\(folder)/\(name)"
    let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, mode)
    try #require(descriptor >= 0)
    made.append(path)
    fchmod(descriptor, mode)
    let bytes = Array(text.utf8)
    try #require(Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
    close(descriptor)
  }

  private func loader(_ files: ConfigurationFiles? = nil) -> FileConfigurationLoader {
    let standard = ConfigurationFiles(main: "\(folder)/gatewayd.toml", folder: "\(folder)/gatewayd.d")
    return FileConfigurationLoader(files: files ?? standard, lookups: FakeLookups(), urls: CurlURLReader())
  }

  private func problem(_ path: String, _ message: String) -> Result<Configuration, ConfigurationProblems> {
    .failure(ConfigurationProblems([ConfigurationProblem(file: path, line: 0, message: message)]))
  }

  @Test func folderIsReadAfterTheMainFileInTheOrderOfNames() throws {
    try write("gatewayd.toml", "limits.clients = 1\nlimits.inflight = 1\nlog.level = \"error\"")
    try write("gatewayd.d/10.toml", "limits.clients = 10\nlimits.inflight = 10")
    try write("gatewayd.d/9.toml", "limits.clients = 9")
    try write("gatewayd.d/.hidden.toml", "limits.clients = 11")
    try write("gatewayd.d/b.conf", "limits.clients = 12")
    var expected = Configuration()
    expected.log.level = .error
    expected.limits.inflight = 10
    expected.limits.clients = 9
    let loader = loader()
    #expect(loader.load() == .success(expected))
    #expect(loader.read == ["gatewayd.toml", "gatewayd.d/10.toml", "gatewayd.d/9.toml"].map { "\(folder)/\($0)" })
  }

  @Test func missingDefaultFilesMeanTheDefaults() {
    let nowhere = ConfigurationFiles(main: "\(folder)/nowhere.toml", folder: "\(folder)/nowhere.d")
    #expect(loader(nowhere).load() == .success(Configuration()))
    #expect(loader(ConfigurationFiles(main: nil, folder: nil)).load() == .success(Configuration()))
  }

  @Test func missingFileThatWasAskedForIsAProblem() {
    let path = "\(folder)/nowhere.toml"
    #expect(loader(.only(path)).load() == problem(path, "does not exist"))
  }

  @Test func fileThatWasAskedForIsReadAlone() throws {
    try write("gatewayd.toml", "limits.clients = 1")
    try write("gatewayd.d/10.toml", "limits.clients = 10")
    var expected = Configuration()
    expected.limits.clients = 1
    #expect(loader(.only("\(folder)/gatewayd.toml")).load() == .success(expected))
  }

  @Test func folderInTheFilesPlaceIsAProblem() {
    #expect(loader(.only(folder)).load() == problem(folder, "is not a regular file"))
  }

  /// One that waits does so for ever. A limit of time would count that of other tests, too.
  @Test func pipeIsRefusedWithoutWaiting() throws {
    let path = "\(folder)/pipe"
    try #require(mkfifo(path, 0o600) == 0)
    made.append(path)
    #expect(loader(.only(path)).load() == problem(path, "is not a regular file"))
  }

  @Test func fileInTheFoldersPlaceIsAProblem() throws {
    try write("gatewayd.toml", "")
    let path = "\(folder)/gatewayd.toml"
    let files = ConfigurationFiles(main: nil, folder: path)
    #expect(loader(files).load() == problem(path, "cannot be listed: Not a directory"))
  }

  @Test func longFileIsRefusedWithoutBeingParsed() throws {
    let path = "\(folder)/gatewayd.toml"
    try write("gatewayd.toml", String(repeating: "\n", count: TomlText.limit + 1))
    #expect(loader(.only(path)).load() == problem(path, "is longer than 1048576 bytes"))
  }

  @Test func nameLoopIsToldInTheSystemsWords() throws {
    let path = "\(folder)/circle"
    try #require(symlink(path, path) == 0)
    made.append(path)
    #expect(
      loader(.only(path)).load() == problem(path, "cannot be opened: Too many levels of symbolic links"))
  }

  @Test func secretThatEverybodyCanReadIsAWarning() throws {
    let text = "[upstream.chat]\nurl = \"http://h\"\nauth = { token = \"hunter2\" }"
    try write("gatewayd.toml", text, mode: 0o644)
    try write("gatewayd.d/9.toml", text, mode: 0o640)
    try write("gatewayd.d/10.toml", "limits.clients = 10", mode: 0o644)
    let loader = loader()
    _ = try loader.load().get()
    let warning = ConfigurationProblem(
      file: "\(folder)/gatewayd.toml", line: 3, column: 1,
      message:
        "upstream.chat.auth is a secret, but everybody on this machine can read this file; use auth_file or chmod o-r"
    )
    #expect(loader.warnings == [warning])
    let check = ConfigurationCheck(loader)
    #expect(check.complaints == "\(folder)/gatewayd.toml:3: warning: \(warning.message)\n")
    #expect(check.summary == "configuration valid (files: 3, upstreams: 1, access rules: 0)\n")
    #expect(check.isValid)
  }

  /// What the check warns of with an upstream `chat`, an upstream `news` and these rules.
  private func warnings(_ rules: String, adhoc: Bool = true) throws -> [String] {
    try write(
      "gatewayd.toml",
      "defaults.adhoc = \(adhoc)\n[upstream.chat]\nurl = \"http://h\"\n[upstream.news]\nurl = \"http://n\"\n" + rules)
    let loader = loader()
    _ = try loader.load().get()
    return loader.warnings.map { "\($0.line) \($0.message)" }
  }

  @Test(arguments: [
    ("", #""chat", "news", upstreams by URL"#, 6),
    ("[[access]]\nuser = \"ann\"\nupstream = [\"c*\"]\nallow = [\"send\"]\n", #""news", upstreams by URL"#, 10),
  ]) func aRuleForAnAdministratorThatTakesEverythingFromEverybodyElseIsAWarning(
    _ others: String, _ closed: String, _ line: Int
  ) throws {
    #expect(
      try warnings(others + "[[access]]\nuser = \"ann\"\nallow = [\"admin\"]\n") == [
        "\(line) access lets nobody but root use \(closed): the rules for that allow \"admin\" alone; whoever is to use it needs a rule too, such as allow = [\"status\", \"subscribe\", \"send\"]"
      ])
  }

  @Test(arguments: [
    "[[access]]\ngroup = \"ops\"\nallow = [\"admin\"]\n[[access]]\ngroup = \"gateway\"\nallow = [\"send\"]",
    "[[access]]\ngroup = \"ops\"\nallow = [\"admin\", \"status\"]",
    "[[access]]\nuser = \"ann\"\nupstream = [\"chat\"]\nallow = [\"request\"]",
  ]) func rulesThatLetSomebodyUseWhatTheyCoverAreNoWarning(_ rules: String) throws {
    #expect(try warnings(rules) == [])
  }

  @Test func anAdministratorOfUpstreamsThatOthersUseIsNoWarningWhereURLsAreOff() throws {
    let rules =
      "[[access]]\nuser = \"ann\"\nupstream = [\"*\"]\nallow = [\"send\"]\n[[access]]\nuser = \"ann\"\nallow = [\"admin\"]"
    #expect(try warnings(rules, adhoc: false) == [])
  }

  @Test(
    arguments: [
      (
        "[defaults]\nheaders = { X-Key = \"hunter2\" }", "defaults.headers",
        "use { file = \"…\" } as the value or chmod o-r"
      ),
      (
        "[defaults]\ntls.key_password = \"hunter2\"", "defaults.tls.key_password",
        "use tls.key_password_file or chmod o-r"
      ),
      ("proxy = \"http://me:hunter2@proxy:1\"", "upstream.chat.proxy", "use proxy_password_file or chmod o-r"),
      ("query = { key = \"hunter2\" }", "upstream.chat.query", "use { file = \"…\" } as the value or chmod o-r"),
      (
        "tls = { key_password = \"hunter2\" }", "upstream.chat.tls.key_password",
        "use tls.key_password_file or chmod o-r"
      ),
      ("url = \"http://me:hunter2@h\"", "upstream.chat.url", "use chmod o-r"),
      ("url = [\"http://h\", \"http://h?token=hunter2\"]", "upstream.chat.url", "use chmod o-r"),
    ]) func everyKindOfSecretThatEverybodyCanReadIsAWarning(text: String, name: String, remedy: String) throws
  {
    let tree = try TomlText.parse(Array((text.hasPrefix("[") ? text : "[upstream.chat]\n" + text).utf8), file: "g")
      .get()
    let secret = try #require(tree.firstSecret)
    #expect(secret.name == name)
    #expect(secret.position.line == 2)
    #expect((secret.instead.map { "use \($0) or chmod o-r" } ?? "use chmod o-r") == remedy)
  }

  @Test(
    arguments: [
      "headers = { X-Key = { file = \"/k\" } }", "proxy = \"http://me@proxy:1\"", "url = \"http://h/a@b:c\"",
      "tls.key_password_file = \"/k\"", "auth_file = \"/k\"",
    ]) func whatHoldsNoSecretIsNoWarning(text: String) throws
  {
    #expect(try TomlText.parse(Array("[upstream.chat]\n\(text)".utf8), file: "g").get().firstSecret == nil)
  }

  @Test func checkNamesEveryProblem() throws {
    try write("gatewayd.toml", "limits.clients = 0\n[lgo]\n")
    let check = ConfigurationCheck(loader())
    #expect(
      check.complaints == """
        \(folder)/gatewayd.toml:1: limits.clients must be between 1 and 1000000, not 0
        \(folder)/gatewayd.toml:2: there is no setting or table "lgo", did you mean "log"?

        """)
    #expect(check.summary == "")
    #expect(!check.isValid)
  }

  /// What is wrong with `[fleet]` and these settings of its login, as a person's check has it.
  private func checked(login: String) throws -> String {
    try write("gatewayd.toml", "[fleet]\nname = \"f\"\nredis = [\"redis://r\"]\n" + login)
    let files = ConfigurationFiles.only("\(folder)/gatewayd.toml")
    let lookups = SystemLookups(demandsFiles: true)
    return ConfigurationCheck(FileConfigurationLoader(files: files, lookups: lookups, urls: CurlURLReader())).complaints
  }

  @Test func checkNamesAnEmptyPasswordFileOfTheFleet() throws {
    try write("password", "")
    let login = "user = \"u\"\npassword_file = \"\(folder)/password\""
    #expect(
      try checked(login: login) == """
        \(folder)/gatewayd.toml:5: fleet.password_file names "\(folder)/password", which cannot be read: it is empty

        """)
    try write("password", "hunter2")
    #expect(try checked(login: login) == "")
  }

  @Test func checkNamesAUserOfTheFleetWithoutAPassword() throws {
    #expect(
      try checked(login: "user = \"u\"") == """
        \(folder)/gatewayd.toml:4: fleet.user needs fleet.password_file or fleet.password_credential: without a \
        password there is no login, and Redis takes this host for its default user

        """)
  }

  @Test func checkTakesAUserOfTheFleetWhosePasswordSystemdPasses() throws {
    #expect(try checked(login: "user = \"u\"\npassword_credential = \"word\"") == "")
  }

  @Test func userFilesFollowTheEnvironment() {
    func files(_ environment: [String: String]) -> ConfigurationFiles { .user { environment[$0] } }
    let own = ConfigurationFiles(main: "/x/gatewayd/gatewayd.toml", folder: "/x/gatewayd/gatewayd.d")
    let home = ConfigurationFiles(
      main: "/home/ann/.config/gatewayd/gatewayd.toml", folder: "/home/ann/.config/gatewayd/gatewayd.d")
    #expect(files(["XDG_CONFIG_HOME": "/x", "HOME": "/home/ann"]) == own)
    #expect(files(["XDG_CONFIG_HOME": "", "HOME": "/home/ann"]) == home)
    #expect(files(["XDG_CONFIG_HOME": "x", "HOME": "/home/ann"]) == home)
    #expect(files([:]) == ConfigurationFiles(main: nil, folder: nil))
    #expect(
      ConfigurationFiles.system
        == ConfigurationFiles(main: "/etc/gatewayd/gatewayd.toml", folder: "/etc/gatewayd/gatewayd.d"))
  }

  @Test func machineKnowsItsAccountsAndFiles() throws {
    let lookups = SystemLookups()
    #expect(lookups.userID(named: "root") == 0)
    #expect(lookups.groupID(named: "root") == 0)
    #expect(lookups.userID(named: "no such user, ever") == nil)
    #expect(lookups.groupID(named: "no such group, ever") == nil)
    try write("gatewayd.toml", "")
    #expect(lookups.obstacle(toReading: "\(folder)/gatewayd.toml") == nil)
    #expect(lookups.obstacle(toReading: "\(folder)/not-yet.pem") == nil)
    #expect(lookups.obstacle(toReading: folder) == "Is a directory")
    // A reader that opens a pipe waits for its writer.
    try #require(mkfifo("\(folder)/pipe", 0o600) == 0)
    made.append("\(folder)/pipe")
    #expect(lookups.obstacle(toReading: "\(folder)/pipe") == "it is not a regular file")
    #expect(lookups.obstacle(toReading: "\(folder)/gatewayd.toml/x") == "Not a directory")
  }
}
