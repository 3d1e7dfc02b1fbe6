/// How deeply lines of the local protocol are nested ("Lines" in docs/protocol.md).
public enum LineDepth {
  /// Most levels of a line of a program, and of a notification.
  public static let limit = JSONScanner.depthLimit
  /// Levels around an argument of an event or of a call: the line, its params, and the list or the object that it
  /// stands in.
  private static let aroundArgument = 3
  /// Most levels of an argument: what a program can send comes back as an event, from every kind of upstream.
  public static let argumentLimit = limit - aroundArgument
  /// Most levels of an answer, in which an event of the history, an answer in the outbox, or what a server said in an
  /// error stands further in than in a notification. Whoever reads lines of the daemon has to take so many.
  public static let answerLimit = limit + 4
}
