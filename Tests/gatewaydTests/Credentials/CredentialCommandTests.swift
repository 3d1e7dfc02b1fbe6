@testable import GatewayCore
import Glibc
import Testing

@testable import gatewayd

@Suite struct CredentialCommandTests {
  /// A loop with commands on it, and what they answered.
  private final class Rig {
    let loop: EventLoop
    let commands: CredentialCommands
    var results: [Result<[UInt8], CredentialProblem>] = []

    init() throws {
      SystemEvents.takeSignals([SIGCHLD])
      loop = try EventLoop()
      commands = CredentialCommands(loop: loop) { $0 == "HOME" ? "/home/x" : $0 == "SECRET" ? "hunter2" : nil }
    }

    func start(
      _ words: [String], limit: Duration = .seconds(20), for account: Account = .configuration,
      while isWanted: @escaping () -> Bool = { true }
    ) {
      let request = SecretRequest(
        source: .command(words), upstream: "chat", url: "https://h/admin?k=***", timeLimit: limit, account: account)
      commands.run(words, request, while: isWanted) { [unowned self] in results.append($0) }
    }

    /// Turns the loop until nothing runs any more, at most twenty seconds.
    func finish() throws {
      let end = loop.time.now + .seconds(20)
      while commands.count > 0, loop.time.now < end { try loop.turn(sleepingAtMost: .milliseconds(100)) }
    }

    /// The answer of one command that ran to its end.
    func run(_ words: String..., limit: Duration = .seconds(20)) throws -> Result<[UInt8], CredentialProblem>? {
      start(words, limit: limit)
      try finish()
      return results.count == 1 && commands.count == 0 ? results[0] : nil
    }
  }

  private func problem(_ sentence: String) -> Result<[UInt8], CredentialProblem> {
    .failure(CredentialProblem(sentence))
  }

  @Test func outputIsReadAsItIs() throws {
    #expect(try Rig().run("printf", "a\\0b %s\\n", "x y; $HOME") == .success(Array("a\0b x y; $HOME\n".utf8)))
  }

  @Test func programIsFoundInTheUsualFoldersOnly() throws {
    let folders = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    #expect(try Rig().run("no-such-program") == problem("the command no-such-program was not found in \(folders)"))
    #expect(try Rig().run("/no/such/program") == problem("the command /no/such/program was not found"))
  }

  @Test func whatCannotBeRunIsSaid() throws {
    #expect(try Rig().run("/etc/passwd") == problem("the command /etc/passwd is not executable"))
    #expect(try Rig().run("/etc") == problem("the command /etc is not executable"))
  }

  @Test func failureOfTheProgramIsToldApart() throws {
    #expect(try Rig().run("sh", "-c", "echo secret; exit 3") == problem("the command sh ended with exit status 3"))
    #expect(try Rig().run("sh", "-c", "echo secret; kill -9 $$") == problem("the command sh was ended by signal 9"))
    #expect(try Rig().run("true") == problem("the command true printed nothing"))
  }

  @Test func sixtyFourKibibytesAreTheMost() throws {
    #expect(try Rig().run("head", "-c", "65536", "/dev/zero") == .success([UInt8](repeating: 0, count: 65_536)))
    #expect(try Rig().run("cat", "/dev/zero") == problem("the command cat printed more than 64 KiB"))
  }

  @Test func timeLimitEndsTheWholeGroup() throws {
    let rig = try Rig()
    let started = rig.loop.time.now
    let result = try rig.run("sh", "-c", "trap '' TERM; sleep 300 & wait; sleep 300", limit: .milliseconds(50))
    #expect(result == problem("the command sh did not end within 50 ms"))
    #expect(rig.loop.time.now - started < .seconds(15))
  }

  @Test func whatTheProgramLeavesBehindIsEnded() throws {
    let rig = try Rig()
    #expect(try rig.run("sh", "-c", "sleep 300 & echo $!") != nil)
    let text = String(decoding: try rig.results[0].get(), as: UTF8.self)
    let left = try #require(pid_t(text.dropLast()))
    // The kernel tears it down after the signal; as an orphan it is reaped by another process, and is a zombie until then.
    let end = rig.loop.time.now + .seconds(10)
    while !isGone(left), rig.loop.time.now < end { sched_yield() }
    #expect(isGone(left))
  }

  private func isGone(_ process: pid_t) -> Bool {
    guard let file = try? ConfigurationFile.read("/proc/\(process)/stat") else { return true }
    return String(decoding: file.bytes, as: UTF8.self).contains(") Z ")
  }

  @Test func surroundingsAreSmallAndAlwaysTheSame() throws {
    let output = try Rig().run(
      "sh", "-c", "env | sort | grep -v '^\\(PWD\\|_\\|SHLVL\\|OLDPWD\\)='; pwd; ls /proc/$$/fd; wc -c; echo secret >&2"
    )
    let text = String(decoding: try #require(output).get(), as: UTF8.self)
    #expect(
      text == """
        GATEWAYD_UPSTREAM=chat
        GATEWAYD_URL=https://h/admin?k=***
        HOME=/home/x
        LANG=C.UTF-8
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
        /
        0
        1
        2
        0

        """)
  }

  @Test func stoppingEndsWhatRunsAndCallsNobody() throws {
    let rig = try Rig()
    rig.start(["sleep", "300"])
    #expect(rig.commands.count == 1)
    let process = try #require(rig.commands.processes.first)
    rig.commands.stop()
    try rig.loop.turn(sleepingAtMost: .zero)
    #expect(rig.commands.count == 0 && rig.results.isEmpty)
    // Of this one alone: other tests have children of their own meanwhile.
    #expect(waitpid(process, nil, WNOHANG) == -1 && errno == ECHILD)
  }

  @Test func loopGoesOnWhileCommandsRun() throws {
    let rig = try Rig()
    for _ in 0..<CredentialCommands.limit { rig.start(["sleep", "300"]) }
    rig.start(["true"])
    #expect(rig.results.isEmpty)
    var fired = false
    rig.loop.timers.after(.milliseconds(1)) { fired = true }
    for _ in 0..<200 where !fired { try rig.loop.turn(sleepingAtMost: .milliseconds(50)) }
    #expect(fired && rig.commands.count == CredentialCommands.limit)
    rig.commands.stop()
  }

  @Test func manyCommandsOfOneUserDoNotHoldUpAnothers() throws {
    let rig = try Rig()
    for _ in 0..<CredentialCommands.limit { rig.start(["sh", "-c", "echo first"], for: .user(1)) }
    for _ in 0..<20 { rig.start(["/no/such/program"], for: .user(1)) }
    rig.start(["/no/other/program"], for: .user(2))
    try rig.finish()
    let failed = rig.results.compactMap { result in
      if case .failure(let problem) = result { problem.message } else { nil }
    }
    #expect(failed.count == 21)
    #expect(failed.firstIndex { $0.contains("other") } == 1)
  }

  @Test func whatIsNotWantedAnyMoreWhenItsTurnComesIsNotRun() throws {
    let rig = try Rig()
    let directory = "/tmp/gatewayd-command-\(getpid())"
    for _ in 0..<CredentialCommands.limit { rig.start(["sh", "-c", "echo early"]) }
    var isWanted = true
    rig.start(["mkdir", directory], while: { isWanted })
    isWanted = false
    try rig.finish()
    #expect(rig.results.contains(problem("the command mkdir was not wanted any more")))
    #expect(rmdir(directory) == -1 && errno == ENOENT)
  }

  @Test func theCommandBehindTheLastOneThatMayRunWaitsForItsTurn() throws {
    let rig = try Rig()
    for _ in 0..<CredentialCommands.limit { rig.start(["sh", "-c", "echo early"]) }
    rig.start(["sh", "-c", "echo late"])
    #expect(rig.commands.count == CredentialCommands.limit)
    try rig.finish()
    #expect(rig.results.count == CredentialCommands.limit + 1)
    #expect(rig.results.allSatisfy { (try? $0.get()) != nil })
  }
}
