/// A command queue has no room; nothing was queued.
public enum QueueFull: Error, Equatable, Sendable {
  case count(SharedBounds.Overrun)
  case bytes(SharedBounds.Overrun)
}
