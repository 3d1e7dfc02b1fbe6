/// What text from elsewhere may hold that is not shown as itself: the one list for everything that is written to a
/// terminal, a log or into a sentence.
extension Unicode.Scalar {
  /// Whether it steers a terminal or a page rather than being seen: control characters (categories Cc, Zl, Zp) and format
  /// characters (Cf), with all that turn the direction of text round (Unicode Standard Annex 9) or hide text. Those format
  /// characters that writing needs are text: the joiners of Persian, of Indian scripts and of emoji, and the Arabic number
  /// signs, which have a shape of their own.
  public var isInvisibleControl: Bool {
    switch value {
    case 0x20..<0x7f: return false
    case 0x200c, 0x200d: return false
    case 0x600...0x605, 0x6dd, 0x70f, 0x890, 0x891, 0x8e2, 0x110bd, 0x110cd: return false
    default: break
    }
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: return true
    default: return false
    }
  }
}
