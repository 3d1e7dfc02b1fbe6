import Testing

@testable import GatewayCore

@Suite struct UpgradeProgressTests {
  @Test func whatPollingHadNotSentIsTakenWithTheLastOfIt() {
    let (polling, webSocket) = (FakeProgress(), FakeProgress())
    (polling.given, polling.taken) = (10, 4)
    let progress = UpgradeProgress(polling)
    #expect(progress.given == 10 && progress.taken == 4)
    webSocket.given = 20
    progress.switched(to: webSocket, given: 10, taken: 4)
    (polling.given, polling.taken, polling.isOver) = (0, 0, true)
    webSocket.given = 25
    webSocket.taken = 19
    #expect(progress.given == 15 && progress.taken == 4)
    webSocket.taken = 22
    #expect(progress.taken == 12 && !progress.isOver)
    webSocket.isOver = true
    #expect(progress.isOver)
  }
}
