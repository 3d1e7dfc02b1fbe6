import Testing

@testable import GatewayCore
@testable import gatewayd

/// `[fleet]`, and the upstreams of it.
struct ConfigurationFleetTests {
  private static let fleet = "[fleet]\nname = \"f\"\nredis = [\"redis://r\"]\n[upstream.a]\nurl = \"http://h\"\n"

  @Test func anUpstreamIsSharedThatSaysSo() throws {
    let configuration = try configure(Self.fleet + "fleet = true").get()
    #expect(configuration.fleet.isWanted)
    #expect(configuration.upstreams["a"] == upstream { $0.fleet = true })
  }

  @Test(arguments: [
    BrokenConfiguration(
      "[upstream.a]\nurl = \"http://h\"\nfleet = true", "g.toml:3: upstream.a.fleet needs [fleet], with name and redis"),
    BrokenConfiguration(
      fleet + "fleet = true\nhistory.disk = true",
      "g.toml:7: upstream.a.history.disk means nothing beside upstream.a.fleet: the fleet keeps the past"),
    BrokenConfiguration(
      "fleet.name = \"f\"",
      "g.toml:1: fleet.name needs fleet.redis, the servers by which the hosts hear of each other"),
    BrokenConfiguration(
      "fleet.redis = [\"redis://r\"]", "g.toml:1: fleet.redis needs fleet.name, the name of the fleet"),
    BrokenConfiguration(
      "[fleet]\nname = \"f\"\nredis = [\"redis://r\"]\npassword = \"x\"",
      #"g.toml:4: fleet has no setting "password", but "password_file" and "password_credential""#),
    BrokenConfiguration(
      "[fleet]\nname = \"f\"\nredis = [\"rediss://r\"]\ntls.ca = \"/etc/secret.key\"",
      #"g.toml:4: fleet.tls.ca names "/etc/secret.key", which cannot be read: Permission denied"#),
  ])
  func whatDoesNotFitIsSaid(_ broken: BrokenConfiguration) {
    let found = problems(broken.text)
    #expect(found == broken.problems, "\(found)")
  }

  private static let shared = "\n[upstream.a]\nurl = \"http://h\"\nfleet = true"

  @Test(arguments: [
    "name = \"f\"\nredis = \"redis://r\"", "name = \"f\"\nredis = [\"http://r\"]", "name = \"f\"\nredis = []",
    "name = \"f\"\nredis = [\"redis://u:p@r\"]", "name = \"a b\"\nredis = [\"redis://r\"]",
  ])
  func aSettingThatIsThereAndWrongIsNotSaidToBeMissing(_ settings: String) {
    let found = problems("[fleet]\n" + settings + Self.shared)
    #expect(!found.contains("needs") && found.split(separator: "\n").count == 1, "\(found)")
  }

  @Test func aServerWithUserAndPasswordLeadsToTheirSettings() {
    let found = problems("[fleet]\nname = \"f\"\nredis = [\"redis://u:p@r\"]")
    #expect(found.hasSuffix("without user, password and path; fleet.user and fleet.password_file say who logs in"))
    #expect(!found.contains("u:p"))
  }

  @Test(arguments: [
    ("redis://r", "redis://r:6379"), ("rediss://10.0.0.1:7", "rediss://10.0.0.1:7"),
    ("redis://[fe80::1]", "redis://[fe80::1]:6379"), ("redis://u:p@r", nil), ("redis://r/0", nil), ("redis://", nil),
    ("http://r", nil), ("redis://r:0", nil), ("redis://[r]:1", nil), ("redis://r:", nil), ("redis://[::1]x", nil),
  ])
  func anAddressOfRedisIsHostAndPort(_ text: String, _ read: String?) {
    #expect(RedisAddress(text)?.text == read)
  }
}
