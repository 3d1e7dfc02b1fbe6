/// What was learnt from servers, by a key that says from which. Beyond the limit an arbitrary one is forgotten, which
/// costs it to be learnt once more.
struct ServerMemory<Key: Hashable, Value> {
  private var values: [Key: Value] = [:]
  private let limit: Int

  /// - Parameter limit: most keys.
  init(limit: Int = 4_096) { self.limit = limit }

  subscript(key: Key) -> Value? {
    get { values.isEmpty ? nil : values[key] }
    set {
      if newValue != nil, values.count >= limit, values[key] == nil { _ = values.popFirst() }
      values[key] = newValue
    }
  }
}

/// What servers do not take, as they showed by refusing it: the largest size, for instance. It counts for an hour, for
/// a limit may be raised.
struct RefusalMemory<Key: Hashable, Value> {
  static var lifetime: Duration { .seconds(3_600) }

  private var refused = ServerMemory<Key, (value: Value, until: MonotonicInstant)>()

  /// What was refused last; nil for nothing, or too long ago.
  func value(of key: Key, at now: MonotonicInstant) -> Value? {
    refused[key].flatMap { now < $0.until ? $0.value : nil }
  }

  mutating func note(_ value: Value, of key: Key, at now: MonotonicInstant) {
    refused[key] = (value, now + Self.lifetime)
  }

  mutating func forget(_ key: Key) { refused[key] = nil }
}
