import Glibc

@testable import GatewayCore

extension ClientOutput {
  /// Whether the first `count` pending bytes are those of the model: in one look, where thousands of steps compare.
  func begins(with model: [UInt8], for count: Int) -> Bool {
    guard count <= min(pending.count, model.count) else { return false }
    guard count > 0, let bytes = pending.baseAddress else { return true }
    return model.withUnsafeBytes { memcmp(bytes, $0.baseAddress!, count) == 0 }
  }
}
