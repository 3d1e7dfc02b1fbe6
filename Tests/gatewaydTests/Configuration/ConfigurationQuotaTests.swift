@testable import GatewayCore
import Testing

@testable import gatewayd

/// `[quota]` and `[quota.group.NAME]`.
struct ConfigurationQuotaTests {
  @Test func aGroupHasQuotasOfItsOwnAndLaterFilesWinSettingBySetting() throws {
    let quotas = try configure([
      ("1.toml", "[quota]\nsends = \"10/s\"\nclients = 5\n[quota.group.ops]\nsends = \"100/s\"\noutbox = 7\n"),
      ("2.toml", "[quota]\nclients = 6\n[quota.group.ops]\noutbox = 8\n[quota.group.77]\nbytes = \"1KiB/s\"\n"),
    ]).get().quotas
    var (user, ops, other) = (Quota(), Quota(), Quota())
    (user.sends, user.clients) = (10, 6)
    (ops.sends, ops.outbox) = (100, 8)
    other.bytes = 1 << 10
    #expect(quotas.user == user)
    #expect(quotas.groups == [27: ops, 77: other])
  }

  static let broken = [
    BrokenConfiguration(
      "[quota]\nsends = 10", #"g.toml:2: quota.sends must be a rate per second such as "1000/s", not an integer"#),
    BrokenConfiguration(
      "[quota]\nsends = \"10/m\"", #"g.toml:2: quota.sends must be a rate per second such as "1000/s", not "10/m""#),
    BrokenConfiguration(
      "[quota]\nsends = \"0/s\"", "g.toml:2: quota.sends must be between 1/s and 10000000/s, not 0/s"),
    BrokenConfiguration(
      "[quota]\nbytes = \"16MB/s\"", #"g.toml:2: quota.bytes must be a size per second such as "16MiB/s", not "16MB/s""#
    ),
    BrokenConfiguration(
      "[quota.group.nowhere]\nsends = \"1/s\"",
      #"g.toml:1: quota.group names the group "nowhere", which does not exist"#),
    BrokenConfiguration(
      "[quota.group.ops]\nsend = \"1/s\"", #"g.toml:2: quota.group.ops has no setting "send", did you mean "sends"?"#),
    BrokenConfiguration("[quota]\ngroup = 5", "g.toml:2: quota.group must be a table, not an integer"),
    BrokenConfiguration("[quota]\ngroups = 5", #"g.toml:2: quota has no setting "groups", did you mean "group"?"#),
  ]

  @Test(arguments: broken)
  func mistakeInAQuotaIsNamed(_ broken: BrokenConfiguration) {
    #expect(problems(broken.text) == broken.problems)
  }
}
