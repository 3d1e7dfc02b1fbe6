import Testing

@testable import GatewayCore

/// What a reload finds changed.
struct ConfigurationChangeTests {
  private static let chat = ConfiguredUpstream(
    url: UpstreamURL(scheme: "https", host: "chat.example"), settings: UpstreamSettings())

  private func change(_ edit: (inout Configuration) -> Void) -> ConfigurationChange {
    var old = Configuration()
    old.upstreams = ["a": Self.chat, "b": Self.chat]
    var new = old
    edit(&new)
    return ConfigurationChange(from: old, to: new)
  }

  @Test func sameConfigurationChangesNothing() {
    let change = change { _ in }
    #expect(change.isEmpty)
    #expect(change.names == [])
  }

  @Test func upstreamsAreAddedRemovedAndChangedByName() {
    let change = change {
      $0.upstreams["a"] = nil
      $0.upstreams["b"]?.settings.linger = .seconds(1)
      $0.upstreams["d"] = Self.chat
      $0.upstreams["c"] = Self.chat
    }
    #expect(change.added == ["c", "d"])
    #expect(change.removed == ["a"])
    #expect(change.changed == ["b"])
    #expect(change.names == ["a", "b", "c", "d"])
  }

  @Test func anotherSpellingInARuleIsAChange() {
    func rule(_ name: String) -> Configuration {
      var configuration = Configuration()
      configuration.access = [
        AccessRule(subject: .user(1), upstreams: [], namespaces: ["/" + name], events: [], allow: [.send]),
        AccessRule(subject: .user(1), upstreams: [], events: [name + "*"], allow: [.send]),
      ]
      return configuration
    }
    #expect(ConfigurationChange(from: rule("caf\u{e9}"), to: rule("caf\u{e9}")).isEmpty)
    let change = ConfigurationChange(from: rule("caf\u{e9}"), to: rule("cafe\u{301}"))
    #expect(change.names == ["[access]"] && change.concernsSends)
  }

  @Test func sendsThatWaitAreConcernedByUpstreamsAndRightsAlone() {
    #expect(!change { _ in }.concernsSends)
    #expect(!change { $0.outbox.keepEntries += 1 }.concernsSends)
    let shared = change { $0.upstreams["a"]?.settings.fleet = true }
    #expect(shared.concernsSends)
    #expect(change { $0.upstreams["a"] = nil }.concernsSends)
    #expect(change { $0.adhoc.toggle() }.concernsSends)
    #expect(change { $0.access = [AccessRule(subject: .user(7), upstreams: [], allow: [.send])] }.concernsSends)
  }

  @Test func otherAddressIsAChange() {
    #expect(change { $0.upstreams["a"]?.url.path = "/admin" }.changed == ["a"])
  }

  @Test func whatIsAgainAsAtTheStartNeedsNoRestart() {
    let start = Configuration()
    var other = start
    other.fleet.host = "b"
    func change(_ old: Configuration, _ new: Configuration) -> ConfigurationChange {
      ConfigurationChange(from: old, to: new, startedWith: StartSettings(start))
    }
    #expect(change(start, other).needsRestart == ["fleet.host"])
    // It still waits.
    #expect(change(other, other).needsRestart == ["fleet.host"])
    let restored = change(other, start)
    #expect(restored.names == ["[fleet]"] && restored.needsRestart == [])
  }

  @Test func everySettingThatIsReadOnlyAtTheStartIsNamed() {
    let socket = Setting<SocketSettings>.declared.map { "socket.\($0.name)" }
    let state = Setting<StateSettings>.declared.map { "state.\($0.name)" }
    let fleet = Setting<FleetOptions>.declared.map { "fleet.\($0.name)" }
    #expect(StartSettings.names.sorted() == (socket + state + fleet).sorted())
  }

  @Test func aReloadThatPutsTheOldSettingsBackAsksForNoRestart() {
    let harness = GatewayHarness()
    let root = harness.client(uid: 0)
    func reload(_ grace: Duration) -> [String?]? {
      var configuration = harness.gateway.configuration
      configuration.fleet.grace = grace
      harness.loader.next = .success(configuration)
      return HarnessClient.values(root.call("reload")).last?["result"]?["restart"]?.elements?.map(\.stringValue)
    }
    let before = harness.gateway.configuration.fleet.grace
    #expect(reload(.seconds(20)) == ["fleet.grace"])
    #expect(reload(.seconds(20)) == ["fleet.grace"])
    #expect(reload(before) == nil)
  }

  static let tables: [(String, @Sendable (inout Configuration) -> Void)] = [
    ("socket", { $0.socket.mode = 0o600 }),
    ("log", { $0.log.level = .debug }),
    ("limits", { $0.limits.line = 5_000 }),
    ("state", { $0.state.path = "/srv" }),
    ("defaults", { $0.defaults.keep = .always }),
    ("defaults", { $0.adhoc = false }),
    ("access", { $0.access = [AccessRule(subject: .user(1), upstreams: [], allow: [.send])] }),
    ("quota", { $0.quotas.user.sends = 5 }), ("quota", { $0.quotas.groups[4] = Quota() }),
  ]

  @Test(arguments: tables)
  func changedTableIsNamed(_ table: String, _ edit: @Sendable (inout Configuration) -> Void) {
    let change = change(edit)
    #expect(change.tables == [table])
    #expect(change.names == ["[\(table)]"])
    #expect(change.needsRestart == (["socket": ["socket.mode"], "state": ["state.path"]][table] ?? []))
  }
}
