import Glibc

/// The whole terminal for a view that is drawn again and again: its other screen, keys without a line feed and without
/// an echo, and back again, also from a handler of a signal.
enum Screen {
  /// What the terminal was like before; means nothing where standard input is no terminal, which then has no keys. Of a
  /// global variable the compiler leaves the last bytes out, which the C library writes: so it stands on the heap.
  nonisolated(unsafe) private static let before: UnsafeMutablePointer<termios> = {
    let before = UnsafeMutablePointer<termios>.allocate(capacity: 1)
    before.initialize(to: termios())
    return before
  }()
  nonisolated(unsafe) private static var hasKeys = false
  nonisolated(unsafe) private static var isEntered = false
  nonisolated(unsafe) private static var isPrepared = false

  /// Made before a handler of a signal needs it: show the cursor, and the ordinary screen (xterm's private modes 25 and
  /// 1049).
  nonisolated(unsafe) private static let leaving = bytes("\u{1b}[?25h\u{1b}[?1049l")
  nonisolated(unsafe) private static let entering = bytes("\u{1b}[?1049h\u{1b}[?25l")

  private static func bytes(_ text: String) -> UnsafeMutableBufferPointer<UInt8> {
    let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: text.utf8.count)
    _ = buffer.initialize(from: text.utf8)
    return buffer
  }

  /// The descriptor of the keys; -1 where there are none.
  static var keys: Int32 { hasKeys ? STDIN_FILENO : -1 }

  static func enter() {
    if !isPrepared {
      _ = leaving
      hasKeys = isatty(STDIN_FILENO) == 1 && tcgetattr(STDIN_FILENO, before) == 0
      isPrepared = true
    }
    takeKeys()
    isEntered = true
    write(entering)
  }

  /// Keys come one by one; the keys that make signals still do.
  private static func takeKeys() {
    guard hasKeys else { return }
    var raw = before.pointee
    raw.c_lflag &= ~tcflag_t(ICANON | ECHO)
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw)
  }

  /// Back to the ordinary screen. Keys still come one by one.
  static func leave() {
    guard isEntered else { return }
    isEntered = false
    write(leaving)
  }

  /// The terminal as it was before. May be called in a handler of a signal, and more than once.
  static func restore() {
    guard isPrepared else { return }
    leave()
    if hasKeys { tcsetattr(STDIN_FILENO, TCSANOW, before) }
  }

  /// No more keys will come.
  static func loseKeys() { hasKeys = false }

  /// Lines from the top of the screen on, in the place of what was there.
  static func frame(_ lines: [String]) -> String {
    "\u{1b}[H" + lines.map { $0 + "\u{1b}[K" }.joined(separator: "\r\n") + "\u{1b}[J"
  }

  private static func write(_ bytes: UnsafeMutableBufferPointer<UInt8>) {
    _ = Glibc.write(STDOUT_FILENO, bytes.baseAddress, bytes.count)
  }
}
