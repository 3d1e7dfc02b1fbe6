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

  @Test func theDoctorTriesEachCommandOfEachScript() {
    let place = FleetPlace(fleet: "f", upstream: "u")
    func tried(mayHold: Bool) -> Set<String> {
      Set(FleetRights(place: place, host: "a", mayHold: mayHold).trials.map { $0.words[0] })
    }
    func missing(_ steps: [FleetStepName], _ tried: Set<String>) -> [String] {
      steps.flatMap { FleetScripts.commands(of: $0) }.filter { !tried.contains($0) }
    }
    #expect(missing(FleetStepName.allCases, tried(mayHold: true)) == [])
    #expect(missing([.join, .alive, .put, .find], tried(mayHold: false)) == [])
  }

  @Test func aLineOfAScriptHasItsCommands() {
    #expect(FleetScripts.commands(of: .beat, line: 1) == ["HGET"])
    #expect(FleetScripts.commands(of: .beat, line: 8) == ["HSET"])
    #expect(FleetScripts.commands(of: .beat, line: 11) == ["HINCRBY", "HGET"])
    #expect(FleetScripts.commands(of: .beat, line: 0) == [] && FleetScripts.commands(of: .beat, line: 99) == [])
    #expect(FleetScripts.commands(of: .find) == ["HGET"])
  }
}
