/// The publications that came last. A session with overlapping subscriptions gets a publication once for each of them, and
/// local programs get it once (WAMP section "Publishing and Events": a publication has one id).
struct WAMPPublications: Equatable, Sendable {
  /// How many are remembered. Copies of one publication follow each other closely.
  static let limit = 1_024

  private var ring: [UInt64] = []
  private var oldest = 0
  private var known: Set<UInt64> = []

  /// False for a copy.
  mutating func note(_ publication: UInt64) -> Bool {
    guard known.insert(publication).inserted else { return false }
    guard ring.count == Self.limit else {
      ring.append(publication)
      return true
    }
    known.remove(ring[oldest])
    ring[oldest] = publication
    oldest = (oldest + 1) % Self.limit
    return true
  }
}
