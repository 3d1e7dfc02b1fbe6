import Testing

@testable import GatewayCore

/// `reload` is answered in one line, however much there is to say.
@Suite struct ReloadCallTests {
  private static let line = 4_096
  private let harness = GatewayHarness { $0.limits.line = Self.line }

  private static func problems(_ count: Int) -> [ConfigurationProblem] {
    (1...count).map { ConfigurationProblem(file: "a.toml", line: $0, message: "the \($0)th has \"quotes\" in it") }
  }

  private func reload() -> JSONValue? {
    let lines = harness.client(uid: 0).call("reload")
    #expect(lines.count == 1 && lines.allSatisfy { $0.utf8.count < Self.line })
    return HarnessClient.values(lines).last
  }

  private func addUpstreams(_ count: Int) {
    var configuration = harness.gateway.configuration
    for number in 1...count {
      configuration.upstreams["sensor-\(number).example"] = configuration.upstreams["chat"]
    }
    configuration.state.path = "/elsewhere"
    harness.loader.next = .success(configuration)
  }

  @Test func whatChangedIsSaidAsFarAsItFitsAndTheRestIsCounted() {
    addUpstreams(500)
    let result = reload()?["result"]
    let names = result?["changed"]?.elements?.compactMap(\.stringValue) ?? []
    #expect(names.count > 100 && names.first == "sensor-1.example")
    #expect(result?["left_out"]?.integerValue == 501 - names.count)
    #expect(result?["restart"]?.elements?.count == 1)
    #expect(harness.gateway.configuration.upstreams.count == 501)
  }

  @Test func warningsLeaveRoomForWhatChanged() {
    addUpstreams(500)
    harness.loader.warnings = Self.problems(100)
    let result = reload()?["result"]
    let (names, warnings) = (result?["changed"]?.elements ?? [], result?["warnings"]?.elements ?? [])
    #expect(names.count > 50)
    #expect(result?["left_out"]?.integerValue == 501 - names.count)
    let left = 100 - (warnings.count - 1)
    #expect((1...80).contains(left))
    #expect(warnings.last?["message"]?.stringValue == "\(left) more warnings are not listed")
  }

  @Test func whatFitsIsSaidWhole() {
    addUpstreams(10)
    harness.loader.warnings = Self.problems(3)
    let result = reload()?["result"]
    #expect(result?["changed"]?.elements?.count == 11 && result?["left_out"] == nil)
    #expect(result?["warnings"]?.elements?.count == 3)
  }

  @Test func mistakesAreSaidAsFarAsTheyFitAndTheRestIsCounted() {
    harness.loader.next = .failure(ConfigurationProblems(Self.problems(100)))
    let error = reload()?["error"]
    #expect(error?["message"]?.stringValue?.hasPrefix("The new configuration has 100 problem(s);") == true)
    let problems = error?["data"]?["problems"]?.elements ?? []
    let left = 100 - (problems.count - 1)
    #expect((1...80).contains(left))
    #expect(error?["data"]?["left_out"]?.integerValue == left)
    #expect(problems.first?["line"]?.integerValue == 1)
    #expect(problems.last?["message"]?.stringValue == "\(left) more mistakes are not listed")
  }

  @Test func mistakesThatWereNeverListedCountAmongTheRest() {
    harness.loader.next = .failure(ConfigurationProblems(Self.problems(100), leftOut: 4_800, of: "b.toml"))
    let data = reload()?["error"]?["data"]
    let problems = data?["problems"]?.elements ?? []
    #expect(data?["left_out"]?.integerValue == 4_900 - (problems.count - 1))
    #expect(problems.last?["file"]?.stringValue == "b.toml")
  }
}
