import Testing

@testable import gatewayd

/// Values of the wrong type, of the wrong form, or out of bounds.
struct ConfigurationTypeTests {
  static let sizeForm = #"must be a size in B, KiB, MiB or GiB such as "64KiB", or a number of bytes"#
  static let durationForm = #"must be a duration in ms, s, m or h such as "30s""#
  static let modeForm = #"must be permission bits in octal such as "0660""#

  static let numbers = [
    BrokenConfiguration("[limits]\nline = 1979-05-27", "g.toml:2: limits.line \(sizeForm), not a date"),
    BrokenConfiguration("[limits]\nline = 1.5", "g.toml:2: limits.line \(sizeForm), not a floating-point number"),
    BrokenConfiguration("[limits]\nline = \"1MB\"", "g.toml:2: limits.line \(sizeForm), not \"1MB\""),
    BrokenConfiguration("[limits]\nline = \"1024\"", "g.toml:2: limits.line \(sizeForm), not \"1024\""),
    BrokenConfiguration("[limits]\nline = \"-1KiB\"", "g.toml:2: limits.line \(sizeForm), not \"-1KiB\""),
    BrokenConfiguration("[limits]\nline = \"1 KiB\"", "g.toml:2: limits.line \(sizeForm), not \"1 KiB\""),
    BrokenConfiguration("[limits]\nline = 0", "g.toml:2: limits.line must be between 4KiB and 1GiB, not 0"),
    BrokenConfiguration("[limits]\nline = -5", "g.toml:2: limits.line must be between 4KiB and 1GiB, not -5"),
    BrokenConfiguration("[limits]\nline = \"12B\"", "g.toml:2: limits.line must be between 4KiB and 1GiB, not 12B"),
    BrokenConfiguration(
      "[limits]\nline = \"99999999999999999999GiB\"",
      "g.toml:2: limits.line must be between 4KiB and 1GiB, not 99999999999999999999GiB"),
    BrokenConfiguration(
      "[limits]\nclients = \"many\"", "g.toml:2: limits.clients must be a whole number, not a string"),
    BrokenConfiguration(
      "[limits]\nclients = true", "g.toml:2: limits.clients must be a whole number, not a boolean"),
    BrokenConfiguration(
      "[limits]\nclients = 0", "g.toml:2: limits.clients must be between 1 and 1000000, not 0"),
    BrokenConfiguration(
      "[limits]\nclients = 1000001", "g.toml:2: limits.clients must be between 1 and 1000000, not 1000001"),
    BrokenConfiguration("[limits]\nstop = 5", "g.toml:2: limits.stop \(durationForm), not an integer"),
    BrokenConfiguration("[limits]\nstop = 07:32:00", "g.toml:2: limits.stop \(durationForm), not a time"),
    BrokenConfiguration("[limits]\nstop = \"5\"", "g.toml:2: limits.stop \(durationForm), not \"5\""),
    BrokenConfiguration("[limits]\nstop = \"1d\"", "g.toml:2: limits.stop \(durationForm), not \"1d\""),
    BrokenConfiguration("[limits]\nstop = \"0s\"", "g.toml:2: limits.stop must be between 1ms and 1h, not 0s"),
    BrokenConfiguration(
      "[defaults]\nttl = \"9000000000000000h\"",
      "g.toml:2: defaults.ttl must be between 1ms and 8760h, not 9000000000000000h"),
    BrokenConfiguration(
      "[defaults]\nadhoc = \"yes\"", "g.toml:2: defaults.adhoc must be true or false, not a string"),
    BrokenConfiguration("[socket]\nmode = 660", "g.toml:2: socket.mode \(modeForm), not an integer"),
    BrokenConfiguration("[socket]\nmode = \"0680\"", "g.toml:2: socket.mode \(modeForm), not \"0680\""),
    BrokenConfiguration("[socket]\nmode = \"4755\"", "g.toml:2: socket.mode \(modeForm), not \"4755\""),
    BrokenConfiguration(
      "[socket]\nmode = \"0444\"",
      "g.toml:2: socket.mode must let somebody write, or nobody can connect, not \"0444\""),
  ]

  static let texts = [
    BrokenConfiguration(
      "[log]\nlevel = \"warn\"",
      #"g.toml:2: log.level must be one of "error", "warning", "notice", "info", "debug", not "warn""#),
    BrokenConfiguration(
      "[log]\nlevel = 3",
      #"g.toml:2: log.level must be one of "error", "warning", "notice", "info", "debug", not an integer"#),
    BrokenConfiguration(
      "[socket]\npath = \"run/g.sock\"",
      #"g.toml:2: socket.path must be an absolute path of at most 107 bytes, not "run/g.sock""#),
    BrokenConfiguration(
      "[socket]\npath = \"/\(String(repeating: "x", count: 107))\"",
      "g.toml:2: socket.path must be an absolute path of at most 107 bytes, not \"/\(String(repeating: "x", count: 107))\""
    ),
    BrokenConfiguration(
      "[socket]\ngroup = \"nobody-knows\"",
      #"g.toml:2: socket.group names the group "nobody-knows", which does not exist"#),
    BrokenConfiguration(
      "[socket]\ngroup = 27", "g.toml:2: socket.group must be the name or number of a group, not an integer"),
    BrokenConfiguration(
      "[state]\npath = \"~/state\"",
      #"g.toml:2: state.path must be an absolute path of at most 4095 bytes, not "~/state""#),
    BrokenConfiguration(
      "[state]\npath = \"/a\\u0000b\"",
      #"g.toml:2: state.path must be an absolute path of at most 4095 bytes, not "/a\u0000b""#),
    BrokenConfiguration("limits = 3", "g.toml:1: limits must be a table, not an integer"),
    BrokenConfiguration("[[limits]]\nline = 1", "g.toml:1: limits must be a table, not an array"),
    BrokenConfiguration("[defaults]\ntls = true", "g.toml:2: defaults.tls must be a table, not a boolean"),
  ]

  @Test(arguments: numbers + texts)
  func valueThatCannotBeUsedIsNamedWithWhatWasExpected(_ broken: BrokenConfiguration) {
    #expect(problems(broken.text) == broken.problems)
  }
}
