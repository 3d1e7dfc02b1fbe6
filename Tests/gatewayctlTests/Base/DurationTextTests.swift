import Testing

@testable import gatewayctl

@Suite struct DurationTextTests {
  @Test(arguments: [
    ("500ms", Duration.milliseconds(500)), ("10s", .seconds(10)), ("5m", .seconds(300)), ("2h", .seconds(7200)),
    ("1ms", .milliseconds(1)), ("007s", .seconds(7)),
  ])
  func unitsAreMillisecondsToHours(_ text: String, _ duration: Duration) throws {
    #expect(try DurationText.parse(text) == duration)
  }

  @Test(arguments: [
    ("10", "'10' has no unit; write 10ms or 10s"), ("", "'' is no duration; write 500ms, 10s, 5m or 2h"),
    ("s", "'s' is no duration; write 500ms, 10s, 5m or 2h"),
    ("-1s", "'-1s' is no duration; write 500ms, 10s, 5m or 2h"),
    ("1.5s", "'1.5s' is no whole number with a unit; write 500ms, 10s, 5m or 2h"),
    ("3d", "'3d' is no whole number with a unit; write 500ms, 10s, 5m or 2h"),
    ("0s", "'0s' is no time at all; the least is 1ms"),
    ("99999999999999999999h", "'99999999999999999999h' is longer than ten years"),
    ("9223372036854775807h", "'9223372036854775807h' is longer than ten years"),
    ("87601h", "'87601h' is longer than ten years"),
  ])
  func anythingElseIsRefusedWithAReason(_ text: String, _ reason: String) {
    #expect(throws: DurationProblem(reason)) { try DurationText.parse(text) }
  }

  @Test(arguments: ["500ms", "10s", "5m", "2h", "1500ms", "90s"])
  func writingIsTheOppositeOfReading(_ text: String) throws {
    #expect(DurationText.write(try DurationText.parse(text)) == text)
  }

  @Test(
    arguments: [
      (-5, "0 ms"), (850, "850 ms"), (59_999, "59 s"), (60_000, "1 min"), (61_000, "1 min 1 s"),
      (11_520_000, "3 h 12 min"), (90_000_000, "1 d 1 h"),
    ] as [(Int64, String)])
  func peopleGetOneOrTwoUnits(_ milliseconds: Int64, _ text: String) {
    #expect(DurationText.describe(milliseconds: milliseconds) == text)
  }
}
