import Testing

@testable import GatewayCore

@Suite struct FleetRightsTests {
  private let place = FleetPlace(fleet: "f", upstream: "u", namespace: "/n")
  private let denied = RedisError("NOPERM this user has no permissions to run the 'hset' command")
  private let keyDenied = RedisError("NOPERM this user has no permissions to access one of the keys used as arguments")

  private func denials(
    _ rights: FleetRights, _ error: RedisError, where isMeant: (FleetRights.Trial) -> Bool
  ) -> [FleetRights.Denial] {
    rights.trials.filter(isMeant).compactMap { FleetRights.Denial(of: $0, error) }
  }

  @Test func aHostThatNeverHoldsNeedsNothingBeyondItsOwnKeys() {
    let rights = FleetRights(place: place, host: "a", mayHold: false, other: "b", waits: true)
    let written = rights.trials.filter { ["hset", "hdel", "xadd", "eval"].contains($0.command) }
    let keys = Set(written.compactMap { $0.key?.text })
    #expect(keys == ["gw:f:{u}:hosts:/n", "gw:f:{u}:box:a:/n", "gw:f:{u}:up:/n"])
    let others = [FleetKey.Part.box(host: "b"), .replies(host: "b")].map { place.key($0) }
    #expect(!rights.trials.contains { trial in others.contains { $0 == trial.key } })
    #expect(!rights.trials.contains { ["hincrby", "exists", "xinfo|stream"].contains($0.command) })
    #expect(rights.trials.contains { $0.command == "wait" })
  }

  @Test func aCommandThatOnlyScriptsUseIsNamedWithItsKeysAndGivenByOneLine() {
    let rights = FleetRights(place: place, host: "a", mayHold: false)
    let missing = denials(rights, denied) { $0.command == "hset" }
    #expect(FleetRights.names(of: missing) == "HSET gw:f:{u}:hosts:/n gw:f:{u}:box:a:/n")
    #expect(rights.rules(for: missing, tellsAccess: true) == ["+hset"])
  }

  @Test func aSubcommandIsNamedInTwoWordsAndGivenAsOneRule() {
    let rights = FleetRights(place: place, host: "a", mayHold: true)
    let missing = denials(rights, denied) { $0.command == "client|unblock" || $0.command == "xinfo|stream" }
    #expect(FleetRights.names(of: missing) == "CLIENT UNBLOCK, XINFO STREAM gw:f:{u}:ev:/n gw:f:{u}:up:/n")
    #expect(rights.rules(for: missing, tellsAccess: true) == ["+client|unblock", "+xinfo|stream"])
  }

  @Test func keysAreGivenForWhatIsDoneWithThem() {
    let never = FleetRights(place: place, host: "a", mayHold: false)
    let missing = denials(never, keyDenied) { $0.command.hasPrefix("x") || $0.command == "hset" }
    #expect(
      never.rules(for: missing, tellsAccess: true) == [
        "~gw:f:{u}:hosts:/n", "~gw:f:{u}:box:a:/n", "%R~gw:f:{u}:ev:/n", "~gw:f:{u}:re:a:/n", "%W~gw:f:{u}:up:/n",
      ])
    #expect(never.rules(for: missing, tellsAccess: false).allSatisfy { $0.hasPrefix("~gw:f:{u}:") })
    let may = FleetRights(place: place, host: "a", mayHold: true)
    let all = denials(may, keyDenied) { $0.key != nil } + denials(may, denied) { $0.command == "hget" }
    #expect(may.rules(for: all, tellsAccess: true) == ["~gw:f:*", "+hget"])
  }

  @Test func aUserOfAHostThatNeverHoldsIsKnownByWhatIsMissing() {
    let rights = FleetRights(place: place, host: "a", mayHold: true, other: "b", waits: true)
    let humble = FleetRights(place: place, host: "a", mayHold: false, waits: true).trials
    let missing = denials(rights, keyDenied) { !humble.contains($0) }
    #expect(!missing.isEmpty && rights.areOfHolderAlone(missing))
    // Somebody has forgotten one of the rights of a host that holds.
    #expect(!rights.areOfHolderAlone(denials(rights, denied) { $0.command == "hincrby" }))
    #expect(!rights.areOfHolderAlone(missing + denials(rights, denied) { $0.command == "ping" }))
  }

  @Test func whatRedisFindsSenselessIsNoDenial() {
    let rights = FleetRights(place: place, host: "a", mayHold: true)
    let error = RedisError("ERR The ID specified in XADD must be greater than 0-0")
    #expect(denials(rights, error) { _ in true } == [])
  }
}
