import Testing

@testable import GatewayCore

@Suite struct BufferGrowthTests {
  /// Room for every piece that comes, until there are `count` bytes. Returns each room that was made.
  private func rooms(_ growth: BufferGrowth, to count: Int, limit: Int) -> [Int] {
    var (rooms, room) = ([Int](), 0)
    for count in stride(from: 1_000, through: count, by: 1_000) {
      room = max(room, growth.capacity(for: count, over: room, limit: limit) ?? count)
      if rooms.last != room, count >= 64_000 { rooms.append(room) }
    }
    return rooms
  }

  @Test func aLineOfManyMegabytesIsCopiedThreeTimes() {
    let rooms = rooms(BufferGrowth(longFrom: 64_000, hugeFrom: 512_000), to: 10_000_000, limit: 100 << 20)
    #expect(rooms == [256_000, 1_028_000, 64 << 20])
  }

  @Test func aBodyGetsRoomForMostLongOnesAtOnce() {
    let rooms = rooms(BufferGrowth(longFrom: 64_000, hugeFrom: 64_000), to: 10_000_000, limit: 100 << 20)
    #expect(rooms == [64 << 20])
  }

  @Test func theRoomIsNeverMoreThanTheLimitUnlessTheBytesAre() {
    let growth = BufferGrowth(longFrom: 64, hugeFrom: 512)
    #expect(growth.capacity(for: 100, over: 0, limit: 300) == 300)
    #expect(growth.capacity(for: 400, over: 0, limit: 300) == 400)
    #expect(growth.capacity(for: .max, over: 0, limit: 300) == .max)
  }

  @Test func whatIsShortOrHasRoomIsLeftAlone() {
    let growth = BufferGrowth(longFrom: 64, hugeFrom: 512)
    #expect(growth.capacity(for: 63, over: 0, limit: 300) == nil)
    #expect(growth.capacity(for: 100, over: 100, limit: 300) == nil)
  }
}
