import Testing

@testable import gatewayd

/// Names that do not exist, and what was probably meant.
struct ConfigurationNameTests {
  static let broken = [
    BrokenConfiguration(
      "[limit]\nline = 1", #"g.toml:1: there is no setting or table "limit", did you mean "limits"?"#),
    BrokenConfiguration("[history]\n", #"g.toml:1: there is no setting or table "history""#),
    BrokenConfiguration(
      "[upstreams.a]\n", #"g.toml:1: there is no setting or table "upstreams", did you mean "upstream"?"#),
    BrokenConfiguration("[[acess]]\n", #"g.toml:1: there is no setting or table "acess", did you mean "access"?"#),
    BrokenConfiguration(
      "linger = \"30s\"",
      #"g.toml:1: there is no setting or table "linger", it belongs to [defaults] or [upstream.NAME]"#),
    BrokenConfiguration("[limits]\nlins = 1", #"g.toml:2: limits has no setting "lins", did you mean "line"?"#),
    BrokenConfiguration(
      "[limits]\nclients-per-user = 1",
      #"g.toml:2: limits has no setting "clients-per-user", did you mean "clients_per_user"?"#),
    BrokenConfiguration("[limits]\nfoo = 1", #"g.toml:2: limits has no setting "foo""#),
    BrokenConfiguration(
      "[limits]\nlevel = \"info\"", #"g.toml:2: limits has no setting "level", it belongs to [log]"#),
    BrokenConfiguration(
      "[log]\nallow = [\"send\"]", #"g.toml:2: log has no setting "allow", it belongs to [[access]]"#),
    BrokenConfiguration(
      "[defaults]\nlingr = \"1s\"", #"g.toml:2: defaults has no setting "lingr", did you mean "linger"?"#),
    BrokenConfiguration(
      "[defaults]\nauth_file = \"/x\"",
      #"g.toml:2: defaults has no setting "auth_file", it belongs to [upstream.NAME]"#),
    BrokenConfiguration(
      "[defaults]\nurl = \"http://h\"", #"g.toml:2: defaults has no setting "url", it belongs to [upstream.NAME]"#),
    BrokenConfiguration(
      "[defaults.tls]\ncerd = \"/x\"", #"g.toml:2: defaults.tls has no setting "cerd", did you mean "cert"?"#),
    BrokenConfiguration(
      "[defaults]\n\"tls.verify\" = false",
      #"g.toml:2: defaults has no setting "tls.verify""#),
    BrokenConfiguration(
      "[upstream.a]\nurl = \"http://h\"\nnamespace = \"/admin\"",
      #"g.toml:3: upstream.a has no setting "namespace": the path of its url is the namespace, as in url = "https://chat.example.com/admin""#
    ),
    BrokenConfiguration(
      "[upstream.a]\nurl = \"http://h\"\nreconnect = { cpa = \"1s\" }",
      #"g.toml:3: upstream.a.reconnect has no setting "cpa", did you mean "cap"?"#),
    BrokenConfiguration(
      "[upstream.a]\nurl = \"http://h\"\nadhoc = true",
      #"g.toml:3: upstream.a has no setting "adhoc", it belongs to [defaults]"#),
    BrokenConfiguration(
      "[upstream.a]\nurl = \"http://h\"\n[upstream.a.b]\nurl = \"http://h\"",
      #"g.toml:3: upstream.a has no setting "b", and a name with a dot is written in quotes: [upstream."a.b"]"#),
    BrokenConfiguration(
      "[[access]]\nuser = \"ann\"\nallow = [\"send\"]\nupstreams = []",
      #"g.toml:4: access has no setting "upstreams", did you mean "upstream"?"#),
    BrokenConfiguration("\"\" = 1", #"g.toml:1: there is no setting or table """#),
  ]

  @Test(arguments: broken)
  func unknownNameIsReportedWithTheNearestKnownOne(_ broken: BrokenConfiguration) {
    #expect(problems(broken.text) == broken.problems)
  }

  @Test func aFileOfNothingButMistakesIsReportedInPart() {
    let text = "[upstream.a]\nurl = \"http://h\"\n" + (0..<5_000).map { "lingr\($0) = 1\n" }.joined()
    let lines = problems(text).split(separator: "\n")
    #expect(lines.count == 201)
    #expect(lines.last == "g.toml: 4800 more mistakes are not listed")
  }

  @Test func aKeyAsLongAsTheFileIsCutInItsMessage() {
    #expect(problems(String(repeating: "a", count: 900_000) + " = 1\n").utf8.count < 2_000)
  }
}
