import GatewayCore
import Glibc

extension FleetSeams {
  /// A fleet on Redis, on the daemon's loop.
  static func redis(_ context: TransportContext, _ credentials: any CredentialReader, _ loop: EventLoop) -> FleetSeams {
    FleetSeams(
      dialer: StreamDialer(of: RESPStream.self, on: context), credentials: credentials, time: loop.time,
      timers: loop.timers,
      random: SystemRandom(), machine: machineName)
  }

  /// As the kernel has it, gethostname(2), with nothing in it that separates names.
  private static var machineName: String {
    var bytes = [CChar](repeating: 0, count: 65)
    guard gethostname(&bytes, bytes.count - 1) == 0 else { return "host" }
    let name = String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let plain = name.filter { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) }
    return plain.isEmpty ? "host" : String(plain.prefix(64))
  }
}
