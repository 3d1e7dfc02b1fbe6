/// What one upstream of a fleet is called, in all keys of it. The braces keep them on one node of a cluster.
struct FleetPlace: Hashable, Sendable {
  /// Shared by the copies of a place, which goes along with each key.
  private final class Names: Sendable {
    let fleet: String
    let upstream: String
    let namespace: ExactText
    /// What stands before and behind the word of each key. A namespace other than `/` stands at the end.
    let beginning: String
    let end: String

    init(_ fleet: String, _ upstream: String, _ namespace: String) {
      (self.fleet, self.upstream, self.namespace) = (fleet, upstream, ExactText(namespace))
      beginning = "gw:\(fleet):{\(upstream)}:"
      end = namespace == "/" ? "" : ":\(namespace)"
    }
  }

  private let names: Names

  init(fleet: String, upstream: String, namespace: String = "/") {
    names = Names(fleet, upstream, namespace)
  }

  /// The name of the fleet.
  var fleet: String { names.fleet }
  /// The name of the configured upstream.
  var upstream: String { names.upstream }
  /// Each namespace has a lease and streams of its own.
  var namespace: String { names.namespace.text }
  fileprivate var beginning: String { names.beginning }
  fileprivate var end: String { names.end }

  static func == (a: Self, b: Self) -> Bool {
    a.names === b.names || a.upstream == b.upstream && a.names.namespace == b.names.namespace && a.fleet == b.fleet
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(upstream)
    hasher.combine(names.namespace)
  }

  func key(_ part: FleetKey.Part) -> FleetKey { FleetKey(place: self, part: part) }
}

/// The name of one thing that an engine keeps.
struct FleetKey: Hashable, Sendable {
  enum Part: Hashable, Sendable {
    /// `L`: who holds the upstream. A table.
    case lease
    /// `ev`: markers and events, from the holder to all hosts. A stream whose positions are given by the holder.
    case events
    /// `up`: what hosts want to have said. A stream whose positions are given by the engine.
    case up
    /// `re`: what the holder answers to one host. A stream whose positions are given by the holder.
    case replies(host: String)
    /// `hosts`: which there are. A table of one row for each host.
    case hosts
    /// `box`: the durable sends of one host. A table of one row for each.
    case box(host: String)
    /// `box:@`: durable sends of hosts that died. A table of one row for each.
    case adopted
  }

  let place: FleetPlace
  let part: Part
  /// As the engine names it.
  let text: String

  init(place: FleetPlace, part: Part) {
    (self.place, self.part) = (place, part)
    var text = place.beginning
    switch part {
    case .lease: text += "L"
    case .events: text += "ev"
    case .up: text += "up"
    case .replies(let host):
      text += "re:"
      text += host
    case .hosts: text += "hosts"
    case .box(let host):
      text += "box:"
      text += host
    case .adopted: text += "box:@"
    }
    text += place.end
    self.text = text
  }

  // What is named alike is the same thing to the engine.
  static func == (a: Self, b: Self) -> Bool { a.text.isExactly(b.text) }
  func hash(into hasher: inout Hasher) { text.hashExactly(into: &hasher) }
}

/// A place in a stream: two numbers, of which the first counts more. In `ev` they are the conversation and the number of
/// the event, in `re` the conversation and the number of the reply.
struct FleetPosition: Hashable, Comparable, Sendable, CustomStringConvertible {
  var conversation: UInt64
  var number: UInt64

  /// Before everything.
  static let start = FleetPosition(0, 0)
  /// Behind everything.
  static let end = FleetPosition(.max, .max)

  /// No number of a fleet is higher: beyond it those of the scripts, which are Lua's, are not exact.
  static let highest: UInt64 = 1 << 53

  /// Whether a holder or a server would give it.
  var isPlausible: Bool { conversation <= Self.highest && number <= Self.highest }

  init(_ conversation: UInt64, _ number: UInt64) {
    self.conversation = conversation
    self.number = number
  }

  /// From `21-1807`; nil for what is none.
  init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let conversation = UInt64(parts[0]), let number = UInt64(parts[1]) else { return nil }
    self.init(conversation, number)
  }

  static func < (a: Self, b: Self) -> Bool { (a.conversation, a.number) < (b.conversation, b.number) }

  var description: String { "\(conversation)-\(number)" }
}
