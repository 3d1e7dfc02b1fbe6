/// What a router may ask for when it names the cost of a key: less would give the password away to whoever hears the
/// answer, more would keep a core busy for minutes.
enum KeyDerivationCost {
  /// Iterations of PBKDF2 for SCRAM (RFC 7677 section 4).
  static let scramIterations = 4_096...10_000_000
  /// Iterations of PBKDF2 for a salted WAMP-CRA, whose usual number is 1,000.
  static let craIterations = 1_000...10_000_000
  /// KiB that Argon2id fills, times its passes.
  static let argon2Work = 8_192...8_388_608
  /// KiB of Argon2id.
  static let argon2Memory = 8...262_144

  /// Why a number of iterations is not worked out; nil if it is.
  static func problem(iterations: Int, _ allowed: ClosedRange<Int>) -> String? {
    if iterations < allowed.lowerBound {
      return "the router asked for only \(iterations) iterations, fewer than \(allowed.lowerBound)"
    }
    if iterations > allowed.upperBound {
      return "the router asked for \(iterations) iterations, more than \(allowed.upperBound)"
    }
    return nil
  }

  /// The same for Argon2id.
  static func problem(iterations: Int, memory: Int) -> String? {
    let (work, overflow) = iterations.multipliedReportingOverflow(by: memory)
    guard iterations >= 1, argon2Memory.contains(memory), !overflow, work <= argon2Work.upperBound else {
      return "the router asked for a cost of Argon2id that is out of bounds"
    }
    return work < argon2Work.lowerBound ? "the router asked for too low a cost of Argon2id" : nil
  }
}
