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
