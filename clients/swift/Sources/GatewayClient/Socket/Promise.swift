import Synchronization

/// A value that comes once, for one task that waits for it. What comes first counts: the value, an error, or that the task
/// was cancelled.
final class Promise<Value: Sendable>: Sendable {
  private enum State {
    case empty
    case awaited(CheckedContinuation<Value, any Error>)
    case settled(Result<Value, any Error>)
    /// Settled while a task waits, which is not told yet.
    case due(Result<Value, any Error>, CheckedContinuation<Value, any Error>)
    case told
  }

  private let state = Mutex(State.empty)

  /// Settles it, without telling who waits: that is for `wake`, outside of all locks. Returns false where it was settled
  /// before.
  func settle(_ result: Result<Value, any Error>) -> Bool {
    state.withLock { state in
      switch state {
      case .empty: state = .settled(result)
      case .awaited(let continuation): state = .due(result, continuation)
      case .settled, .due, .told: return false
      }
      return true
    }
  }

  /// Lets the task go on that waits.
  func wake() {
    let due: (Result<Value, any Error>, CheckedContinuation<Value, any Error>)? = state.withLock { state in
      guard case .due(let result, let continuation) = state else { return nil }
      state = .told
      return (result, continuation)
    }
    if let (result, continuation) = due { continuation.resume(with: result) }
  }

  /// The value. When the task is cancelled before it came, `withdraw` is called, and a `CancellationError` is thrown.
  func value(orWithdraw withdraw: @Sendable () -> Void) async throws -> Value {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let early: Result<Value, any Error>? = state.withLock { state in
          guard case .settled(let result) = state else {
            state = .awaited(continuation)
            return nil
          }
          state = .told
          return result
        }
        if let early { continuation.resume(with: early) }
      }
    } onCancel: {
      guard settle(.failure(CancellationError())) else { return }
      withdraw()
      wake()
    }
  }
}
