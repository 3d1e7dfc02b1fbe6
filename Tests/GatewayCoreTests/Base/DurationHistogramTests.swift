import Testing

@testable import GatewayCore

@Suite struct DurationHistogramTests {
  @Test(
    arguments: [
      (-5, 0), (0, 0), (1, 0), (1_024, 0), (1_025, 1), (2_048, 1), (2_049, 2), (1 << 36, 26), ((1 << 36) + 1, 27),
      (Int64.max, 27),
    ] as [(Int64, Int)])
  func aDurationCountsInTheFirstStepThatAllowsIt(_ nanoseconds: Int64, _ step: Int) {
    var histogram = DurationHistogram()
    histogram.add(nanoseconds)
    #expect(histogram.steps == [UInt64](repeating: 0, count: step) + [1])
  }

  @Test func whatIsCountedTogetherIsWhatWasCountedApart() {
    var (random, all, parts) = (SystemRandomNumberGenerator(), DurationHistogram(), [DurationHistogram]())
    for _ in 0..<3 {
      var part = DurationHistogram()
      for _ in 0..<500 {
        let value = Int64.random(in: 0..<(1 << 40), using: &random) >> Int64.random(in: 0...40, using: &random)
        part.add(value)
        all.add(value)
      }
      parts.append(part)
    }
    var sum = DurationHistogram()
    for part in parts { sum.add(part) }
    #expect(sum.steps == all.steps && sum.sum == all.sum && sum.count == 1_500)
  }

  @Test func aQuantileIsWithinTheStepOfTheTrueOne() throws {
    var (random, histogram, values) = (SystemRandomNumberGenerator(), DurationHistogram(), [Int64]())
    #expect(histogram.quantile(0.99) == nil)
    for _ in 0..<1_000 {
      values.append(Int64.random(in: 2_000..<(1 << 34), using: &random) >> Int64.random(in: 0...10, using: &random))
      histogram.add(values[values.count - 1])
    }
    values.sort()
    for part in [0.01, 0.5, 0.9, 0.99, 1] {
      let (found, exact) = (Double(try #require(histogram.quantile(part))), Double(values[Int(part * 1_000) - 1]))
      #expect(found <= max(1_024, exact * 2) && found >= exact / 2, "\(part): \(found) for \(exact)")
    }
  }

  @Test func whatIsBelowABoundIsCountedUpToIt() {
    var histogram = DurationHistogram()
    for bits in 10...40 { histogram.add(1 << Int64(bits)) }
    #expect(histogram.count(upToPower: 10) == 1 && histogram.count(upToPower: 20) == 11)
    #expect(histogram.count(upToPower: 36) == 27 && histogram.count == 31)
  }
}
