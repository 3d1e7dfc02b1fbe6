@testable import GatewayCore
import Testing

@testable import gatewayd

/// Several files, and several tables, make one configuration.
struct ConfigurationMergeTests {
  @Test func noFileMeansTheDefaults() throws {
    #expect(try configure([]).get() == Configuration())
  }

  @Test func laterFileWinsSettingBySetting() throws {
    var expected = Configuration()
    expected.limits.clients = 5
    expected.limits.inflight = 6
    expected.log.level = .debug
    expected.defaults.linger = .seconds(2)
    let first = "[limits]\nclients = 4\ninflight = 6\n[defaults]\nlinger = \"1s\""
    let second = "[limits]\nclients = 5\n[log]\nlevel = \"debug\"\n[defaults]\nlinger = \"2s\""
    #expect(try configure([("1.toml", first), ("2.toml", second)]).get() == expected)
  }

  @Test func defaultsOfALaterFileCountForUpstreamsOfAnEarlierOne() throws {
    var expected = Configuration()
    expected.defaults.keep = .always
    expected.upstreams["a"] = upstream { $0.keep = .always }
    let files = [("1.toml", "[upstream.a]\nurl = \"http://h\""), ("2.toml", "[defaults]\nkeep = \"always\"")]
    #expect(try configure(files).get() == expected)
  }

  @Test func sameUpstreamInTwoFilesIsMergedMemberByMember() throws {
    var expected = Configuration()
    expected.upstreams["a"] = upstream {
      $0.tls.ca = .file("/ca")
      $0.tls.verify = false
      $0.reconnect.base = .seconds(3)
      $0.reconnect.cap = .seconds(20)
      $0.headers = [HTTPHeader(name: "B", value: "2")]
      $0.auth = .inline(Array("{}".utf8))
    }
    let first = """
      [upstream.a]
      url = "http://other"
      auth_file = "/x"
      headers = { A = "1" }
      tls = { ca = "/ca" }
      reconnect = { base = "2s", cap = "20s" }
      """
    let second = """
      [upstream.a]
      url = "http://h"
      auth = {}
      headers = { B = "2" }
      tls = { verify = false }
      reconnect = { base = "3s" }
      """
    #expect(try configure([("1.toml", first), ("2.toml", second)]).get() == expected)
  }

  @Test func upstreamOverridesDefaultsMemberByMemberButHeadersAndQueryAsAWhole() throws {
    let text = """
      [defaults]
      tls = { ca = "/ca", verify = false }
      reconnect = { cap = "5s" }
      headers = { A = "1" }
      query = { a = "1" }
      [upstream.a]
      url = "http://h"
      tls = { verify = true }
      reconnect = { base = "4s" }
      headers = { B = "2" }
      query = {}
      """
    #expect(
      try configure(text).get().upstreams
        == [
          "a": upstream {
            $0.tls.ca = .file("/ca")
            $0.reconnect.base = .seconds(4)
            $0.reconnect.cap = .seconds(5)
            $0.headers = [HTTPHeader(name: "B", value: "2")]
          }
        ])
  }

  @Test func certificateOfDefaultsAndKeyOfAnUpstreamBelongTogether() throws {
    let text = """
      [defaults]
      tls = { cert = "/c", key = "/k" }
      [upstream.a]
      url = "http://h"
      tls = { key = "/other" }
      """
    #expect(
      try configure(text).get().upstreams
        == [
          "a": upstream {
            $0.tls.certificate = "/c"
            $0.tls.key = "/other"
          }
        ])
  }

  @Test func accessRulesOfAllFilesAreAppended() throws {
    let files = [
      ("1.toml", "[[access]]\nuid = 1\nallow = [\"send\"]\nupstream = [\"a\"]"),
      ("2.toml", "[[access]]\nuid = 2\nallow = [\"send\"]\n[upstream.a]\nurl = \"http://h\""),
    ]
    #expect(
      try configure(files).get().access == [
        AccessRule(subject: .user(1), upstreams: ["a"], allow: [.send]),
        AccessRule(subject: .user(2), upstreams: [], allow: [.send]),
      ])
  }

  @Test func twoUpstreamsMayHaveTheSameURL() throws {
    let text = "upstream.a.url = \"http://h\"\nupstream.\"b.c\".url = \"http://h\""
    #expect(try configure(text).get().upstreams == ["a": upstream(), "b.c": upstream()])
  }

  @Test func allProblemsOfAllFilesAreReportedAtOnceInOrder() {
    let files = [
      ("1.toml", "[limits]\nline = 0\nclients = \"x\"\n[socket]\ngroup = \"eve\"\n[upstream.a]\nlinger = 5\n"),
      ("2.toml", "[limits\n"),
      ("3.toml", "[[access]]\nuser = \"eve\"\nupstream = [\"b\"]\nallow = []\n[lgo]\n"),
      ("4.toml", "[upstream.a]\nurl = \"x\"\n"),
    ]
    guard case .failure(let problems) = configure(files) else {
      Issue.record("the files are broken")
      return
    }
    #expect(
      problems.description == """
        1.toml:2: limits.line must be between 4KiB and 1GiB, not 0
        1.toml:3: limits.clients must be a whole number, not a string
        1.toml:5: socket.group names the group "eve", which does not exist
        1.toml:7: upstream.a.linger must be a duration in ms, s, m or h such as "30s", not an integer
        2.toml:1: syntax error in table header: expected ']', saw '\\n'
        3.toml:2: access.user names the user "eve", which does not exist
        3.toml:4: access.allow must be a list of "status", "subscribe", "send", "request", "admin", not an empty one
        3.toml:5: there is no setting or table "lgo", did you mean "log"?
        4.toml:2: upstream.a.url cannot be used: the URL has no scheme; write for example https://x
        """)
  }

  /// What the broken file has is known to nobody: that it lacks something would be a false sentence.
  @Test func whatMayStandInABrokenFileIsNotSaidToBeMissing() {
    let other = """
      [fleet]
      user = "x"
      redis = ["redis://h:6379"]
      [upstream.chat]
      fleet = true
      tls.cert = "/c"
      reconnect.base = "60s"
      server_time.every = "1m"
      [upstream.router]
      url = "wamp+ws://h"
      [[access]]
      uid = 1
      upstream = ["other"]
      allow = ["send"]
      """
    let broken = "[upstream.other]\nurl = \"http://o\n"
    #expect(
      problems([("1.toml", broken), ("2.toml", other)])
        == "1.toml:2: syntax error in string: it is not closed on its line, or holds a control character")
    #expect(problems([("2.toml", other)]).split(separator: "\n").count == 8)
  }

  @Test func problemInAValueThatALaterFileReplacesIsStillReported() {
    let files = [("1.toml", "[limits]\nline = 0"), ("2.toml", "[limits]\nline = 5000")]
    #expect(
      configure(files)
        == .failure(
          ConfigurationProblems([
            ConfigurationProblem(
              file: "1.toml", line: 2, column: 8, message: "limits.line must be between 4KiB and 1GiB, not 0")
          ])))
  }
}
