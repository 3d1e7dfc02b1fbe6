/// How much room is made for bytes that come piece by piece, and whose number is not known beforehand. What has become
/// long is expected to become longer: four times as much room, and from another length on room for most of what is
/// long, so that what is there is copied while it is not much. Room that is not used costs nothing.
public struct BufferGrowth: Sendable {
  /// From this length on, in bytes, room is made ahead.
  private let longFrom: Int
  /// From this length on, in bytes, it is room for most of what is long.
  private let hugeFrom: Int
  /// Room for most of what is long, in bytes.
  private static let hugeRoom = 64 << 20

  public init(longFrom: Int, hugeFrom: Int) {
    self.longFrom = longFrom
    self.hugeFrom = hugeFrom
  }

  /// The room that `count` bytes want where there is `capacity`, at most `limit` unless they are more themselves. Nil
  /// where the room is enough, or grows well enough by itself.
  public func capacity(for count: Int, over capacity: Int, limit: Int) -> Int? {
    guard count > capacity, count >= longFrom else { return nil }
    let wanted = count.multipliedReportingOverflow(by: 4).partialValue
    return max(count, min(count < hugeFrom ? wanted : max(wanted, Self.hugeRoom), limit))
  }
}
