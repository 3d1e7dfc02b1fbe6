/// The traces of one local client. An object, so that nothing is copied to ask it after each write.
final class ClientTraces {
  private var held: [String: Trace] = [:]
  /// The number of the next one.
  var nextNumber: UInt64 = 1
  private unowned let upstreams: Upstreams

  init(in upstreams: Upstreams) { self.upstreams = upstreams }

  var count: Int { held.count }
  var isEmpty: Bool { held.isEmpty }
  var all: [Trace] { Array(held.values) }

  subscript(id: String) -> Trace? { held[id] }

  func makeID() -> String {
    defer { nextNumber += 1 }
    return "t\(nextNumber)"
  }

  /// Begins to write what is observed.
  func add(_ trace: Trace) {
    held[trace.id] = trace
    upstreams.add(trace)
  }

  /// Ends one; false if there is none of that id.
  func remove(_ id: String) -> Bool {
    guard let trace = held.removeValue(forKey: id) else { return false }
    upstreams.remove(trace)
    return true
  }

  /// Ends all: the client leaves.
  func removeAll() {
    for trace in held.values { upstreams.remove(trace) }
    held.removeAll()
  }

  /// The client has read: it is told now what it missed.
  func pump() {
    guard !held.isEmpty else { return }
    for trace in held.values { trace.pump() }
  }

  /// Writes nothing more.
  func mute() {
    for trace in held.values { trace.mute() }
  }
}
