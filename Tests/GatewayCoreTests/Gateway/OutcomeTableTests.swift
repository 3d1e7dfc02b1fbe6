import Testing

@testable import GatewayCore

/// The table of outcomes against the answers, and against what it says itself in two ways.
@Suite struct OutcomeTableTests {
  private static let lost = UpstreamFailure(.closed, "closed")
  static let outcomes: [CommandOutcome] = [
    .written, .acknowledged(RemoteAnswer([])), .failed(RemoteError("no")),
    .down(lost), .refused(lost), .impossible(.tooLarge(limit: 1, size: 2)), .impossible(.invalid("It is wrong.")),
    .impossible(.outdated("It is old.")), .expired, .replaced, .notStored(StorageProblem(.full, "full")), .denied,
    .acknowledgementTimeout, .acknowledgementLost(lost),
  ]

  @Test(arguments: outcomes)
  func theAnswerToACallIsTheErrorOfTheTable(_ outcome: CommandOutcome) {
    let harness = GatewayHarness()
    harness.client().call("subscribe", #"{"upstream":"chat"}"#)
    let error = LocalError(outcome, on: harness.gateway.upstreams.pool.all[0])
    #expect(error.kind == outcome.meaning.error ?? .internalError)
  }

  @Test(arguments: [CommandOutcome.acknowledgementLost(lost), .acknowledgementTimeout])
  func whatAFleetWasToldWhoseHolderIsDeadIsNotSaidToBeWritten(_ outcome: CommandOutcome) throws {
    let fleet = FleetGateways()
    let host = fleet.start("a")
    let connection = try #require(host.gateway.upstreams.pool.all.first)
    let message = LocalError(outcome, on: connection).message
    #expect(
      message.hasPrefix("It was given to the fleet, but ") && message.hasSuffix(": whether it arrived is unknown."))
  }

  @Test(arguments: outcomes)
  func whatMayHaveLeftKeepsItsKeyAndNothingElseDoes(_ outcome: CommandOutcome) {
    var hasLeft = [OutboxState.sent, .acked, .lost].contains { $0 == outcome.meaning.outbox }
    if case .failed = outcome { hasLeft = true }
    #expect(outcome.meaning.key == (hasLeft ? outcome.meaning.outbox : nil))
    #expect((outcome.logText == nil) == (outcome.meaning.log == nil))
  }
}
