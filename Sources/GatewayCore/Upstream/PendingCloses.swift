/// Conversations that nobody holds any more and that still await their server's goodbye: the daemon's end waits for them.
public final class PendingCloses {
  /// One of them; it counts for as long as it is held.
  final class PendingClose {
    private let all: PendingCloses

    fileprivate init(_ all: PendingCloses) {
      self.all = all
      all.count += 1
    }

    deinit {
      all.count -= 1
      all.checkQuiet()
    }
  }

  private var count = 0
  private var onQuiet: (() -> Void)?

  init() {}

  /// Whoever takes one limits its time.
  func begin() -> PendingClose { PendingClose(self) }

  /// Calls back once, when none is under way: at once if that is so already.
  public func whenQuiet(_ body: @escaping () -> Void) {
    onQuiet = body
    checkQuiet()
  }

  private func checkQuiet() {
    guard count == 0, let body = onQuiet else { return }
    onQuiet = nil
    body()
  }
}
