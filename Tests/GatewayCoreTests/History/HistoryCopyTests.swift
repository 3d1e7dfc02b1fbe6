import Testing

@testable import GatewayCore

/// A history so large that it is written anew over several turns.
@Suite struct HistoryCopyTests {
  private static let text = "\"" + String(repeating: "x", count: 500_000) + "\""

  /// A daemon that was started again on a history of 20 events, twice a portion and more.
  private func restarted() -> (scene: HistoryScene, epoch: String) {
    let scene = HistoryScene {
      $0.bytes = 64 << 20
      $0.events = 1_000
    }
    scene.channel.accept()
    for _ in 1...20 { scene.channel.emit("e", Self.text) }
    scene.flush()
    let epoch = scene.position.epoch
    scene.restart()
    return (scene, epoch)
  }

  private func sequences(_ scene: HistoryScene) -> [UInt64] {
    (0..<scene.connection.stream.history.nextPlace).filter { scene.connection.stream.history.content(at: $0) != nil }
      .map { scene.connection.stream.history.number(at: $0) }
  }

  @Test func itGoesOnOverSeveralTurnsAndLeavesOneSegment() {
    let (scene, _) = restarted()
    let before = scene.store.stored.count
    #expect(scene.store.stored.values.map(\.bytes.count).max() ?? 0 > 10_000_000)
    var turns = 0
    while scene.connection.stream.log?.isCopying == true, turns < 50 {
      scene.harness.pass(.zero)
      turns += 1
    }
    #expect(turns >= 2 && turns < 10)
    #expect(before >= 1 && scene.store.stored.count == 1)
    #expect(scene.store.stored.values.allSatisfy { !$0.isCut })
    scene.crash()
    #expect(sequences(scene).count == 20)
  }

  @Test func whatComesMeanwhileIsThereAfterwards() {
    let (scene, _) = restarted()
    scene.channel.accept()
    scene.emit("new", "newer")
    scene.flush()
    let position = scene.position
    scene.harness.pass(.seconds(1))
    #expect(scene.connection.stream.log?.isCopying == false)
    scene.emit("newest")
    scene.flush()
    scene.crash()
    #expect(scene.position.epoch == position.epoch && scene.position.sequence == position.sequence + 1)
    #expect(sequences(scene).count == 23)
  }

  @Test func aCrashMeanwhileIsNoContinuityWhereSomethingWasGivenOut() {
    let (scene, _) = restarted()
    scene.channel.accept()
    scene.emit("new")
    scene.flush()
    let epoch = scene.position.epoch
    scene.crash()
    #expect(scene.position.epoch != epoch)
    #expect(sequences(scene).count == 20)
  }

  @Test func aCrashMeanwhileLosesNothingWhereNothingWas() {
    let (scene, _) = restarted()
    let position = scene.position
    scene.harness.pass(.zero)
    scene.crash()
    #expect(scene.position == position)
    #expect(sequences(scene).count == 20)
  }

  @Test func anOrderlyStopMeanwhileKeepsAll() {
    let (scene, _) = restarted()
    scene.channel.accept()
    scene.emit("new")
    scene.restart()
    #expect(sequences(scene).count == 21)
  }
}
