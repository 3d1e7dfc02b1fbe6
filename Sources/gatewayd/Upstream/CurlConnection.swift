import CLinux
import GatewayCore
import Glibc

/// A connection that libcurl makes and that then carries raw bytes, encrypted or not. It goes with this object. Where
/// nothing stands between us and the kernel, bytes are read and written past libcurl, whose way there costs as much as
/// all else that is done for a small message.
final class CurlConnection {
  private let easy: CurlEasy
  /// What is read comes straight from the kernel: no TLS holds some of it back, neither the server's nor a proxy's.
  let isBare: Bool
  /// The connected socket, for what needs no word from libcurl. Nil until something was read or written through libcurl:
  /// it holds a connection that it has made to be idle until then, and closes it some seconds later when another one is
  /// made.
  private var bareSocket: Int32?
  private var kernelLimit = KernelLimit()

  /// Starts to connect. `onMade` hears the outcome once, later, unless this object goes first: nil means made.
  init(_ multi: CurlMulti, to request: DialRequest, onMade: @escaping (CurlProblem?) -> Void) throws(CurlProblem) {
    easy = try CurlEasy(multi)
    try easy.configure(request)
    try easy.keepConnectionAmongFew()
    isBare = !request.secure && easy.proxy == nil
    try easy.set(.connectOnly, 1)
    try easy.set(.freshConnection, 1)
    easy.onDone = { [unowned easy] problem in
      easy.listenToRemarks()
      onMade(problem)
    }
    try easy.start(CurlEasy.Limits(connecting: request.phaseLimit))
  }

  /// Host and port of the proxy on the way; nil without one.
  var proxy: String? { easy.proxy }

  /// The connected socket; it belongs to libcurl.
  var descriptor: Int32 { easy.descriptor }

  /// The far end's numeric address; nil for a socket that has none.
  var address: String? {
    let address = gw_peer_address(descriptor)
    let text = withUnsafeBytes(of: address.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    return text.isEmpty ? nil : text
  }

  /// Bytes that the kernel has and the far end's machine has not acknowledged.
  var unacknowledgedBytes: Int { Int(gw_unacknowledged_bytes(descriptor)) }

  /// The kernel gives up soon after then what it has and cannot deliver.
  func limitKernel(to limit: MonotonicInstant, at now: MonotonicInstant) {
    kernelLimit.set(limit, of: descriptor, at: now)
  }

  /// The same holds of what is written from now on: a server that took nothing for long has the kernel wait as long again.
  func tightenKernelLimit(to limit: MonotonicInstant, at now: MonotonicInstant) {
    kernelLimit.tighten(to: limit, of: descriptor, at: now)
  }

  /// Ends the connection; what the kernel still has is forgotten.
  func reset() { gw_reset(descriptor) }

  /// Such as `TLSv1.3`; nil without TLS, and before the first byte was sent.
  var tlsVersion: String? { easy.tlsVersion }

  /// Writes some of `bytes`. After `wait` the same memory must be offered again, with at least as many bytes.
  func send(_ bytes: UnsafeRawBufferPointer) -> CurlEasy.Progress {
    guard let bareSocket else { return sendThroughCurl(bytes) }
    let count = gw_send(bareSocket, bytes.baseAddress, bytes.count)
    return count >= 0 ? .bytes(count) : Self.failure()
  }

  /// Reads what is there. Only `wait` means that the descriptor will become readable when there is more.
  func receive(into buffer: UnsafeMutableRawBufferPointer) -> CurlEasy.Progress {
    guard let bareSocket else { return receiveThroughCurl(into: buffer) }
    let count = gw_receive(bareSocket, buffer.baseAddress, buffer.count)
    return count > 0 ? .bytes(count) : count == 0 ? .ended : Self.failure()
  }

  @inline(never)
  private func sendThroughCurl(_ bytes: UnsafeRawBufferPointer) -> CurlEasy.Progress {
    claim()
    return easy.send(bytes)
  }

  @inline(never)
  private func receiveThroughCurl(into buffer: UnsafeMutableRawBufferPointer) -> CurlEasy.Progress {
    claim()
    return easy.receive(into: buffer)
  }

  private func claim() { if isBare { bareSocket = easy.descriptor } }

  /// What `errno` means for a socket that does not block.
  @inline(never)
  private static func failure() -> CurlEasy.Progress {
    switch errno {
    case EAGAIN, EINTR: .wait
    case let code: .failed(CurlProblem(kind: .lost, text: SystemError.text(of: code)))
    }
  }
}
