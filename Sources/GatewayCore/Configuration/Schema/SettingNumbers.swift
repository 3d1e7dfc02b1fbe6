extension SettingType<Int> {
  private static var sizeUnits: [(name: String, factor: Int)] {
    [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)]
  }

  /// `"64KiB"`, or a plain number of bytes.
  static func size(_ bounds: ClosedRange<Int>) -> Self {
    Self(
      "size, \(Quantity.text(bounds.lowerBound, in: sizeUnits)) to \(Quantity.text(bounds.upperBound, in: sizeUnits))",
      read: { (node) throws(SettingFindings) in
        let expectation = #"a size in B, KiB, MiB or GiB such as "64KiB", or a number of bytes"#
        if case .integer(let bytes) = node.value {
          return try node.checked(Int(bytes), in: bounds, written: "\(bytes)") { Quantity.text($0, in: sizeUnits) }
        }
        let text = try node.text(expected: expectation)
        guard let size = Quantity(text)?.counted(in: sizeUnits) else {
          throw SettingFindings("must be \(expectation), not \(text.tomlString)", at: node)
        }
        return try node.checked(size, in: bounds, written: text) { Quantity.text($0, in: sizeUnits) }
      },
      write: { Quantity.text($0, in: sizeUnits).tomlString })
  }

  /// `"1000/s"`.
  static func rate(_ bounds: ClosedRange<Int>) -> Self {
    rate(bounds, #"a rate per second such as "1000/s""#, { "\($0)/s" }) { Int($0) }
  }

  /// `"16MiB/s"`.
  static func byteRate(_ bounds: ClosedRange<Int>) -> Self {
    rate(bounds, #"a size per second such as "16MiB/s""#, { Quantity.text($0, in: sizeUnits) + "/s" }) {
      Quantity($0)?.counted(in: sizeUnits)
    }
  }

  private static func rate(
    _ bounds: ClosedRange<Int>, _ expectation: String, _ text: @escaping @Sendable (Int) -> String,
    _ read: @escaping @Sendable (String) -> Int?
  ) -> Self {
    Self(
      "rate, \(text(bounds.lowerBound)) to \(text(bounds.upperBound))",
      read: { (node) throws(SettingFindings) in
        let written = try node.text(expected: expectation)
        guard written.hasSuffix("/s"), let rate = read(String(written.dropLast(2))) else {
          throw SettingFindings("must be \(expectation), not \(written.tomlString)", at: node)
        }
        return try node.checked(rate, in: bounds, written: written, text)
      },
      write: { text($0).tomlString })
  }

  /// A plain number.
  static func count(_ bounds: ClosedRange<Int>) -> Self {
    Self(
      "count, \(bounds.lowerBound) to \(bounds.upperBound)",
      read: { (node) throws(SettingFindings) in
        guard case .integer(let number) = node.value else {
          throw SettingFindings(expected: "a whole number", found: node)
        }
        return try node.checked(Int(number), in: bounds, written: "\(number)") { "\($0)" }
      },
      write: { "\($0)" })
  }
}

extension SettingType<Duration> {
  private static var units: [(name: String, factor: Int)] {
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)]
  }

  /// `"500ms"`, `"10s"`, `"5m"`, `"2h"`; the bounds count milliseconds.
  static func duration(milliseconds bounds: ClosedRange<Int>) -> Self {
    Self(
      "duration, \(Quantity.text(bounds.lowerBound, in: units)) to \(Quantity.text(bounds.upperBound, in: units))",
      read: { (node) throws(SettingFindings) in
        let expectation = #"a duration in ms, s, m or h such as "30s""#
        let text = try node.text(expected: expectation)
        guard let milliseconds = Quantity(text)?.counted(in: units) else {
          throw SettingFindings("must be \(expectation), not \(text.tomlString)", at: node)
        }
        return .milliseconds(
          try node.checked(milliseconds, in: bounds, written: text) { Quantity.text($0, in: units) })
      },
      write: { text(of: $0) })
  }

  /// As a configuration says it, such as `"30s"`.
  static func text(of duration: Duration) -> String {
    Quantity.text(Int(duration.milliseconds), in: units).tomlString
  }
}

extension SettingType<Bool> {
  static var flag: Self {
    Self(
      "boolean",
      read: { (node) throws(SettingFindings) in
        guard case .boolean(let value) = node.value else {
          throw SettingFindings(expected: "true or false", found: node)
        }
        return value
      },
      write: { $0 ? "true" : "false" })
  }
}

extension SettingType<UInt32> {
  /// Permission bits as octal digits in a string, because TOML would read the number 660 as decimal.
  static var mode: Self {
    Self(
      "octal mode",
      read: { (node) throws(SettingFindings) in
        let expectation = #"permission bits in octal such as "0660""#
        let text = try node.text(expected: expectation)
        guard (3...4).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x37).contains($0) }),
          let bits = UInt32(text, radix: 8), bits <= 0o777
        else { throw SettingFindings("must be \(expectation), not \(text.tomlString)", at: node) }
        guard bits & 0o222 != 0 else {
          throw SettingFindings("must let somebody write, or nobody can connect, not \(text.tomlString)", at: node)
        }
        return bits
      },
      write: { bits in
        let digits = String(bits, radix: 8)
        return (String(repeating: "0", count: max(0, 4 - digits.count)) + digits).tomlString
      })
  }
}

extension ConfigurationNode {
  /// The number, if it is within the bounds.
  fileprivate func checked(_ number: Int, in bounds: ClosedRange<Int>, written: String, _ text: (Int) -> String)
    throws(SettingFindings) -> Int
  {
    guard bounds.contains(number) else {
      throw SettingFindings(
        "must be between \(text(bounds.lowerBound)) and \(text(bounds.upperBound)), not \(written)", at: self)
    }
    return number
  }
}

/// A number with a unit, as it is written in a configuration: `64KiB`, `30s`.
struct Quantity: Equatable {
  /// Clamped to what an `Int` can hold.
  var amount: Int
  var unit: String

  /// Nil unless the text is digits followed by letters.
  init?(_ text: String) {
    let digits = text.utf8.prefix { (0x30...0x39).contains($0) }
    let letters = text.utf8.dropFirst(digits.count)
    guard !digits.isEmpty, !letters.isEmpty, letters.allSatisfy({ (0x41...0x5a).contains($0 & 0xdf) }) else {
      return nil
    }
    amount = Int(String(decoding: digits, as: UTF8.self)) ?? .max
    unit = String(decoding: letters, as: UTF8.self)
  }

  /// The amount in the base unit, clamped; nil for an unknown unit.
  func counted(in units: [(name: String, factor: Int)]) -> Int? {
    guard let factor = units.first(where: { $0.name == unit })?.factor else { return nil }
    let (product, overflow) = amount.multipliedReportingOverflow(by: factor)
    return overflow ? .max : product
  }

  /// The amount in the largest unit that divides it.
  static func text(_ amount: Int, in units: [(name: String, factor: Int)]) -> String {
    let fitting = units.filter { amount % $0.factor == 0 && amount >= $0.factor }.max { $0.factor < $1.factor }
    guard let unit = fitting ?? units.max(by: { $0.factor > $1.factor }) else { return String(amount) }
    return "\(amount / unit.factor)\(unit.name)"
  }
}
