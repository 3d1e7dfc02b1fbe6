/// Judges settings of an upstream that can only be judged together. Only what was set at this place is blamed, so that
/// a mistake in `[defaults]` is not repeated for every upstream.
struct UpstreamSettingsCheck {
  /// Name of the table in messages.
  let title: String
  let origins: SettingOrigins
  let lookups: any ConfigurationLookups
  let notes: ProblemNotes

  /// Notes what is wrong with the settings taken together.
  func check(_ settings: UpstreamSettings) {
    checkCertificate(settings.tls)
    checkFile("tls.ca", settings.tls.ca?.path)
    checkFile("tls.cert", settings.tls.certificate)
    checkFile("tls.key", settings.tls.key)
    checkFile("tls.key_password_file", settings.tls.keyPasswordFile)
    checkFile("proxy_password_file", settings.proxy.passwordFile)
    checkCredentials(settings)
    checkPasswords(settings)
    checkHistory(settings.history)
    checkServerTime(settings.serverTime)
    checkOrder("refresh.least", settings.refresh.least, "refresh.most", settings.refresh.most)
    checkOrder("reconnect.base", settings.reconnect.base, "reconnect.cap", settings.reconnect.cap)
    checkOrder(
      "reconnect.refused_base", settings.reconnect.refusedBase, "reconnect.refused_cap", settings.reconnect.refusedCap)
  }

  private func checkCertificate(_ tls: TLSSettings) {
    if tls.certificate != nil, tls.key == nil, let place = origins["tls.cert"] {
      notes.noteLack("\(title).tls.cert needs \(title).tls.key, the key of the certificate", at: place)
    }
    if tls.key != nil, tls.certificate == nil, let place = origins["tls.key"] {
      notes.noteLack("\(title).tls.key needs \(title).tls.cert, the certificate of the key", at: place)
    }
  }

  private func checkHistory(_ history: HistorySettings) {
    guard history.disk == true, history.events == 0,
      let place = origins["history.disk"] ?? origins["history.events"]
    else { return }
    notes.noteLack("\(title).history.disk needs \(title).history.events to be more than 0", at: place)
  }

  private func checkPasswords(_ settings: UpstreamSettings) {
    if settings.tls.keyPassword != nil, settings.tls.keyPasswordFile != nil,
      let place = origins["tls.key_password"] ?? origins["tls.key_password_file"]
    {
      notes.note(
        "\(title).tls has both key_password and key_password_file, but only one of them can be used", at: place)
    }
    guard settings.proxy.passwordFile != nil, let place = origins["proxy_password_file"] ?? origins["proxy"],
      case .server(let server) = settings.proxy.choice
    else { return }
    if server.user == nil {
      notes.note("\(title).proxy_password_file needs a user in \(title).proxy", at: place)
    } else if server.password != nil {
      notes.note("\(title).proxy has a password already, so \(title).proxy_password_file cannot be used", at: place)
    }
  }

  /// What stands in `[defaults]` may wait for an upstream that names an event.
  private func checkServerTime(_ time: ServerTimeSettings) {
    guard title != "defaults" else { return }
    let lacking =
      time.request != nil
      ? []
      : time.event != nil ? [("every", "request")] : [("every", "request"), ("member", "event"), ("unit", "event")]
    for (name, needed) in lacking {
      guard let place = origins["server_time.\(name)"] else { continue }
      let other = needed == "event" ? " or \(title).server_time.request" : ""
      notes.noteLack("\(title).server_time.\(name) needs \(title).server_time.\(needed)\(other)", at: place)
    }
  }

  private func checkFile(_ name: String, _ path: String?) {
    guard let path, let place = origins[name], let obstacle = lookups.obstacle(toReading: path) else { return }
    notes.note("\(title).\(name) names \(path.tomlString), which cannot be read: \(obstacle)", at: place)
  }

  /// Read at each connect, and so a daemon starts without them.
  private func checkCredentials(_ settings: UpstreamSettings) {
    guard lookups.demandsFiles else { return }
    if case .external(let source) = settings.auth { checkSource("auth_file", source) }
    for member in settings.headerSources { checkSource("headers", member.source) }
    for member in settings.querySources { checkSource("query", member.source) }
  }

  private func checkSource(_ name: String, _ source: SecretSource) {
    guard case .file(let path) = source, let place = origins[name], let obstacle = lookups.obstacle(toReading: path)
    else { return }
    notes.note(
      "\(title).\(name) names \(path.tomlString), which cannot be read: \(obstacle); put the credentials there, or "
        + "correct the name, and check as the user that the daemon runs as", at: place)
  }

  private func checkOrder(_ lower: String, _ least: Duration, _ upper: String, _ most: Duration) {
    guard least > most, let place = origins[lower] ?? origins[upper] else { return }
    let (low, high) = (SettingType<Duration>.text(of: least), SettingType<Duration>.text(of: most))
    notes.noteLack("\(title).\(lower) is \(low) and must not exceed \(title).\(upper), which is \(high)", at: place)
  }
}
