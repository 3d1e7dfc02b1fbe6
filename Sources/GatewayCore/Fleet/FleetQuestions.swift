/// The questions of the server in one conversation of the holder that are not answered, and which host answers each.
struct FleetQuestions {
  private var hosts: [UInt64: String] = [:]
  /// Those that each host is to answer.
  private var questions: [String: Set<UInt64>] = [:]

  /// The host that is to answer: of those that can the one that has been asked the least, and of these the first.
  mutating func ask(_ id: UInt64, of able: Set<String>) -> String? {
    guard let host = able.min(by: { (load(of: $0), $0) < (load(of: $1), $1) }) else { return nil }
    hosts[id] = host
    questions[host, default: []].insert(id)
    return host
  }

  private func load(of host: String) -> Int { questions[host]?.count ?? 0 }

  /// A question is over. Returns the host that was to answer it.
  mutating func take(_ id: UInt64) -> String? {
    guard let host = hosts.removeValue(forKey: id) else { return nil }
    questions[host]?.remove(id)
    if questions[host]?.isEmpty == true { questions[host] = nil }
    return host
  }

  /// What a host is to answer, in the order of the ids.
  func open(of host: String) -> [UInt64] { (questions[host] ?? []).sorted() }
}
