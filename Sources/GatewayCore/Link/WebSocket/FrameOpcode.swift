/// What a frame is (RFC 6455 section 5.2).
public enum FrameOpcode: UInt8, Sendable {
  case continuation = 0
  case text = 1
  case binary = 2
  case close = 8
  case ping = 9
  case pong = 10

  /// Section 5.5.
  var isControl: Bool { rawValue & 8 != 0 }
}
