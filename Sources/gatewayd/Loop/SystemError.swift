import Glibc

/// A call to the kernel or to a system library that failed: what was tried, and the system's own reason.
struct SystemError: Error, Equatable, CustomStringConvertible {
  /// What could not be done, as the end of the sentence "cannot …".
  var operation: String
  /// A positive `errno` value.
  var code: Int32

  /// Takes `errno` as it stands unless a code is given.
  init(_ operation: String, code: Int32 = errno) {
    self.operation = operation
    self.code = code
  }

  var description: String { "cannot \(operation): \(Self.text(of: code))" }

  /// The system's text for an `errno` value, such as `Connection refused`.
  static func text(of code: Int32) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
      guard let base = buffer.baseAddress, strerror_r(code, base, buffer.count) == 0 else { return "error \(code)" }
      return String(cString: base)
    }
  }
}
