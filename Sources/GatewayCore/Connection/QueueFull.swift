/// A command queue has no room; nothing was queued.
public enum QueueFull: Error, Equatable, Sendable {
  case count(limit: Int)
  case bytes(limit: Int)
}
