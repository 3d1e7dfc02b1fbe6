import Testing

@testable import GatewayCore

@Suite struct FleetScriptsTests {
  @Test(arguments: FleetStepName.allCases)
  func aStepIsOneScriptWithItsDigest(step: FleetStepName) {
    let text = FleetScripts.text(of: step)
    #expect(FleetScripts.digest(of: step) == SHA1.hexadecimal(of: Array(text.utf8)))
    #expect(FleetStepName.allCases.filter { FleetScripts.text(of: $0) == text } == [step])
    // Each is told in full on every connection once.
    #expect(text.utf8.count < 3_000)
  }
}
