import CCurl

/// What comes back: the head of a proxy's answer to CONNECT, then head and body of the server's.
extension CurlEasy {
  /// Pieces of a body that are taken one by one each time libcurl is let work. A server chooses how small they are: of
  /// what libcurl has read at once the rest is then taken together, behind what others have. Whole pieces have 16 KiB,
  /// and memory that is touched for the first time may take longer than what is copied into it.
  static let piecesAtOnce = 16

  /// Has `onReady`, `onHeader` and `onBody` called.
  func listenToExchange() throws(CurlProblem) {
    let me = Unmanaged.passUnretained(self).toOpaque()
    for option in [CURLOPT_PREREQDATA, CURLOPT_WRITEDATA] { try check(gw_easy_set_pointer(handle, option, me)) }
    try check(
      gw_easy_set_prerequest_function(handle) { me, _, _, _, _ in
        let easy = me.map { Unmanaged<CurlEasy>.fromOpaque($0).takeUnretainedValue() }
        return easy?.ready() == .goOn ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
      })
    try listenToHeads()
    try check(
      gw_easy_set_transfer_function(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, me in
        let piece = UnsafeRawBufferPointer(start: bytes, count: size * count)
        guard let easy = me.map({ Unmanaged<CurlEasy>.fromOpaque($0).takeUnretainedValue() }) else { return 0 }
        guard easy.mayTakePiece() else { return Int(CURL_WRITEFUNC_PAUSE) }
        return easy.onBody(piece) == .goOn ? piece.count : 0
      })
  }

  /// Has the lines of heads looked at, those of a proxy's answer, too.
  func listenToHeads() throws(CurlProblem) {
    try check(gw_easy_set_pointer(handle, CURLOPT_HEADERDATA, Unmanaged.passUnretained(self).toOpaque()))
    try check(
      gw_easy_set_transfer_function(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, me in
        let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
        let easy = me.map { Unmanaged<CurlEasy>.fromOpaque($0).takeUnretainedValue() }
        return easy?.hear(line) == .goOn ? line.count : 0
      })
  }

  /// libcurl reads what a proxy says byte by byte for as long as something comes, in one go: a head without end, and
  /// what follows the head of a refusal, which is of no use.
  private func hear(_ line: UnsafeRawBufferPointer) -> Consent {
    let endsHead = line.count <= 2
    if endsHead, tunnelStatus >= 300 { return .stop }
    if isAnswering { return onHeader(line) }
    tunnelHeadLeft -= line.count
    return isTunnelHeadTooLong ? .stop : .goOn
  }

  var isTunnelHeadTooLong: Bool { tunnelHeadLeft < 0 }

  /// Counts a piece of the body. False when there were too many, and the transfer is to pause.
  private func mayTakePiece() -> Bool {
    if pieces.round != multi.round { pieces = (multi.round, 0) }
    pieces.count += 1
    guard pieces.count > Self.piecesAtOnce else { return true }
    multi.loop.afterOthers { [weak self] in self?.goOn() }
    return false
  }

  private func goOn() {
    pieces.count = 0
    let result = curl_easy_pause(handle, CURLPAUSE_RECV_CONT)
    if result != CURLE_OK { finish(code: result.rawValue) }
  }
}
