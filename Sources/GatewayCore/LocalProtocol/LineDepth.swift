/// How deeply lines of the local protocol are nested ("Lines" in docs/protocol.md).
public enum LineDepth {
  /// Most levels of a line of a program, and of a notification.
  public static let limit = JSONScanner.depthLimit
  /// Levels around an argument of an event or of a call: the line, its params, and the list or the object that it stands in.
  private static let aroundArgument = 3
  /// Most levels of an argument: what a program can send comes back as an event, from every kind of upstream.
  public static let argumentLimit = limit - aroundArgument
}
