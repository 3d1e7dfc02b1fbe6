extension Setting<FleetOptions> {
  /// `[fleet]`.
  static var declared: [Self] { places + terms }

  private static var places: [Self] {
    [
      Setting(
        "name", \.name, SettingType<String>.fleetName.optional,
        "Name of the fleet, in the name of everything that it keeps in Redis. Hosts with the same name and the same Redis are one fleet. Without it there is none, and no upstream may have `fleet = true`.",
        example: #""prod""#),
      Setting(
        "redis", \.redis, .redisServers,
        "Its Redis or Valkey servers, from 6.2 on: `redis://HOST:PORT`, with TLS `rediss://HOST:PORT`. Of several the one counts that says it is the master.",
        example: #"["redis://127.0.0.1:6379"]"#),
      Setting(
        "user", \.user, SettingType<String>.memberName.optional, "User of Redis; without it the default one.",
        example: #""edge-17""#),
      Setting(
        "password_file", \.password, SettingType<SecretSource>.secretFile.optional,
        "File with the password for Redis, read at each connect. Without it and `password_credential` there is no login.",
        example: #""/etc/gatewayd/fleet.password""#),
      Setting(
        "password_credential", \.password, SettingType<SecretSource>.credential.optional,
        "The same, by the name of a credential that systemd passes with `LoadCredential=`.",
        example: #""fleet.password""#),
      Setting(
        "tls.ca", \.authorities, SettingType<CertificateAuthorities>.authorities.optional,
        "PEM file of the certificates to trust at `rediss://` instead of the system's, or its text.",
        example: #""/etc/gatewayd/redis-ca.pem""#),
    ]
  }

  private static var terms: [Self] {
    [
      Setting(
        "host", \.host, SettingType<String>.fleetName.optional,
        "What the fleet calls this host. No two hosts may have the same name. Without it: the machine's name.",
        example: #""edge-17""#),
      Setting(
        "hold", \.hold, .choice,
        "May this host have the link? One with `prefer` takes it before others when nobody has it any more; one with `never` only uses it, and needs no credentials of the upstreams."
      ),
      Setting(
        "lease", \.lease, .duration(milliseconds: 1_000...60_000),
        "How long a holder may write to the server after it has last been confirmed as such. Another host takes over when it has heard nothing of the holder for a tenth more. The same on all hosts."
      ),
      Setting(
        "grace", \.grace, .duration(milliseconds: 1_000...600_000),
        "How long connections outlive the loss of Redis, before they are down with the reason `fleet`."),
      Setting(
        "adopt", \.adopt, .duration(milliseconds: 3_000...3_600_000),
        "How long a host is silent before it is taken for dead. The same on all hosts."),
      Setting(
        "yield", \.yield, .duration(milliseconds: 1_000...600_000),
        "How long a holder that does not reach the server keeps the link, where another host might reach it. For a minute it takes the link again only if no other host does."
      ),
      Setting(
        "durable", \.durable, .choice,
        "Where a durable send to an upstream of the fleet is kept when its sender is answered: with `host` on the disk of this host, and in Redis as soon as that is reached; with `fleet` in Redis alone, on `copies` replicas of it, for hosts without a disk. Then it is refused while Redis is full or not reached."
      ),
      Setting(
        "copies", \.copies, .count(0...8),
        "Replicas of Redis that must confirm who holds, which hosts live, and durable sends. Without any, a failover of Redis may leave two holders for a lease."
      ),
    ]
  }
}

extension SettingType<String> {
  /// A name that is a part of others.
  static var fleetName: Self {
    text("name", expected: "1 to 64 letters of A-Z a-z 0-9 . _ -") {
      FleetOptions.isName($0)
    }
  }
}

extension SettingType<Bool> {
  /// One that is not in `[defaults]`.
  static var flagWithoutDefault: Self {
    Self("boolean", read: { (node) throws(SettingFindings) in try flag.read(node) }, write: { _ in nil })
  }
}

extension SettingType<[RedisAddress]> {
  private static var expectation: String { "a list of URLs such as \"redis://127.0.0.1:6379\"" }

  /// Redis servers, at least one.
  static var redisServers: Self {
    let server = SettingType<RedisAddress>(
      "URL",
      read: { (node) throws(SettingFindings) in
        let text = try node.text(expected: expectation)
        guard let address = RedisAddress(text) else {
          let login = text.contains("@") ? "; fleet.user and fleet.password_file say who logs in" : ""
          throw SettingFindings("must be \(expectation), without user, password and path\(login)", at: node)
        }
        return address
      },
      write: { $0.text.tomlString })
    return Self(
      "list of URLs",
      read: { (node) throws(SettingFindings) in try node.elements(of: server, expected: expectation) },
      write: { $0.isEmpty ? nil : "[" + $0.map(\.text.tomlString).joined(separator: ", ") + "]" })
  }
}
