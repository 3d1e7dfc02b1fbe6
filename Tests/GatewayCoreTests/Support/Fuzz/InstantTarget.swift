@testable import GatewayCore

/// The server's time: among the arguments of a message, and in a `Date` header. Whatever is found must be a time that can
/// be reckoned with, and what is made of it must stay in order. The first byte chooses unit and member.
enum InstantTarget {
  static func problem(with input: [UInt8]) -> String? {
    guard let choice = input.first else { return nil }
    let text = Array(input.dropFirst())
    var settings = ServerTimeSettings()
    settings.unit = TimeUnit.allCases[Int(choice & 3) % TimeUnit.allCases.count]
    settings.member = choice & 4 == 0 ? nil : choice & 8 == 0 ? "now" : "a.now"
    let header = HTTPHeader(name: "date", value: String(decoding: text, as: UTF8.self))
    let asked = MonotonicInstant(nanoseconds: Int64(choice) << 40)
    let heard = asked + .seconds(2)
    var samples: [ClockSample] = []
    if let shown = ServerInstant.find(in: text.span.bytes, settings) {
      guard let sample = ClockSample(.request, shown: shown, notBefore: asked, notAfter: heard) else {
        return "a time was found that cannot be reckoned with"
      }
      samples.append(sample)
    }
    if let sample = ClockSample(dateOf: [header], asked: asked, heard: heard) { samples.append(sample) }
    return problem(with: samples, EventClock(settings), at: heard)
  }

  private static func problem(with samples: [ClockSample], _ clock: EventClock, at heard: MonotonicInstant) -> String? {
    var clock = clock
    var last = Int64.min
    for sample in samples {
      clock.take(sample)
      for (wall, pause) in [(Int64(0), 0), (.max, 1), (.min, 86_400), (1_795_276_800_000, 31_536_000)] {
        let now = heard + .seconds(pause)
        guard let estimate = clock.estimate(wall: wall, now: now), estimate.error >= 0 else {
          return "a sample was taken of which nothing is known"
        }
        let stamp = clock.stamp(wall: min(wall, 1 << 53), now: now)
        guard stamp >= last else { return "time ran backwards" }
        last = stamp
      }
    }
    return nil
  }
}
