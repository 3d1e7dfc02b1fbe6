import Testing

@testable import GatewayCore

@Suite struct CommandIDTests {
  @Test(arguments: [0, 1, 9, 10, 35, 36, 1_295, 1_296, 123_456_789_012, .max] as [UInt64])
  func theNumberStandsInBase36BehindTheLife(_ number: UInt64) {
    #expect(
      CommandID(life: "0190a0b2-c3d4-", number: number).text == "0190a0b2-c3d4-"
        + String(number, radix: 36))
  }

  @Test func sendsOfSeveralLivesStandInTheOrderOfTheirNumbers() {
    let ids = (34...37).map { CommandID(life: $0 < 36 ? "0190a0b3-0000-" : "0190a0b2-ffff-", number: $0).text }
    #expect(CommandID.inOrder(ids.reversed()) == ids)
    #expect(CommandID.inOrder(["no number", "x-1", "-"]) == ["-", "no number", "x-1"])
  }

  @Test func wordsThatWereGivenStay() {
    #expect(CommandID("an id of another life").text == "an id of another life")
  }
}
