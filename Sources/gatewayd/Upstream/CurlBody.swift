import CCurl
import CLinux
import GatewayCore
import Glibc

/// The body of a request that may not be written at any time: libcurl asks for each piece right before it writes it.
struct CurlBody {
  /// Most bytes of a piece: one system call. It is what a POST of several packets has, so that such a body is one piece.
  static let pieceLimit = 32 << 10
  /// The same with TLS, whose records are no longer: of a larger piece each record would be a call of its own.
  static let recordLimit = 16 << 10

  let bytes: [UInt8]
  private var offset = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Copies the next piece; 0 behind the last one.
  fileprivate mutating func next(into room: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(room.count, bytes.count - offset)
    bytes.withUnsafeBytes { room.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[offset..<(offset + count)])) }
    offset += count
    return count
  }

  /// libcurl begins again, on another connection; whether it may then is decided when it is ready.
  fileprivate mutating func rewind(to start: Int) -> Bool {
    guard (0...bytes.count).contains(start) else { return false }
    offset = start
    return true
  }
}

/// What is written of a fleet's link: not behind the instant up to which this host may. libcurl writes by itself, so it
/// is looked at the clock wherever it goes to: before the head, before each piece of the body, and, for what the kernel
/// did not take of a piece, before libcurl is let work.
extension CurlEasy {
  /// Makes the exchange a POST whose body is asked for by pieces.
  func set(handedOut body: [UInt8], in limit: Int) throws(CurlProblem) {
    question = CurlBody(body)
    try set(.pieceLimit, limit)
    try check(gw_easy_set_long(handle, CURLOPT_POST, 1))
    try check(gw_easy_set_body_size(handle, body.count))
    let me = Unmanaged.passUnretained(self).toOpaque()
    for option in [CURLOPT_READDATA, CURLOPT_SEEKDATA] { try check(gw_easy_set_pointer(handle, option, me)) }
    try check(
      gw_easy_set_transfer_function(handle, CURLOPT_READFUNCTION) { room, size, count, me in
        guard let easy = me.map({ Unmanaged<CurlEasy>.fromOpaque($0).takeUnretainedValue() }), easy.isInTime() else {
          return Int(CURL_READFUNC_ABORT)
        }
        return easy.question?.next(into: UnsafeMutableRawBufferPointer(start: room, count: size * count)) ?? 0
      })
    try check(
      gw_easy_set_seek_function(handle) { me, start, origin in
        let easy = me.map { Unmanaged<CurlEasy>.fromOpaque($0).takeUnretainedValue() }
        guard origin == SEEK_SET, easy?.question?.rewind(to: Int(start)) == true else { return CURL_SEEKFUNC_FAIL }
        return CURL_SEEKFUNC_OK
      })
  }

  /// Whether the time for writing is over.
  var isPastLimit: Bool { writeLimit.map { multi.loop.time.now >= $0 } ?? false }

  /// Whether libcurl may write what it is about to.
  func isInTime() -> Bool {
    if isPastLimit { isLate = true }
    return !isLate
  }

  /// Whether libcurl would write, let work, what it may not any more.
  var holdsLateBytes: Bool { isPastLimit && isUploading }

  private var isUploading: Bool {
    guard isAnswering, let question else { return false }
    return gw_easy_uploaded(handle) < question.bytes.count
  }

  /// The kernel gives up soon after then what it cannot deliver, also while this process stands still. Before the request
  /// is written there is nothing to give up but the connection that is being made.
  func limitKernel() {
    guard let writeLimit, isAnswering, let socket else { return }
    kernelLimit.set(writeLimit, of: socket, at: multi.loop.time.now)
  }

  /// The same holds of what libcurl writes when it is let work now.
  func tightenKernelLimit() {
    guard let writeLimit, isUploading, let socket else { return }
    kernelLimit.tighten(to: writeLimit, of: socket, at: multi.loop.time.now)
  }

  /// Ends the connection; what the kernel still has is forgotten.
  func reset() {
    if let socket { gw_reset(socket) }
  }
}
