/// The events of an upstream, made by `Gateway.subscribe`. It outlives its connections to the daemon.
///
/// ```swift
/// for try await event in try await gateway.subscribe("https://chat.example", ["said"]) {
///   print(event.name, event.args)
/// }
/// ```
///
/// As it is iterated the daemon is asked for more. It ends when the last reference to it is gone, or with `close`. Several
/// tasks may iterate it at once: each item goes to one of them.
public final class Subscription: AsyncSequence, Sendable {
  public typealias Element = Event

  /// The daemon had everything that `since` or `last` asked for.
  public let isComplete: Bool
  /// Whether the connection to the upstream was up when the subscription was made, and why not.
  public let upstream: StateChange

  // The client goes with its last user.
  private let gateway: Gateway
  private let id: SubscriptionID

  init(gateway: Gateway, id: SubscriptionID, answer: RawObject) {
    self.gateway = gateway
    self.id = id
    isComplete = answer.bool("recovered") ?? true
    let state = ConnectionState(rawValue: answer.string("state") ?? "")
    upstream = answer.object("upstream").flatMap { StateChange($0) } ?? StateChange(state: state)
  }

  deinit { gateway.loop.unsubscribe(id) }

  /// The place behind the last item that was taken: `since` with it goes on there, in another run of the program too.
  public var position: Position? { gateway.loop.position(of: id) }

  /// The next item; nil after `close`. Gaps and states come only where they were asked for.
  public func next() async throws -> Item? { try await gateway.loop.next(id) }

  /// Ends it. What was received and not taken is dropped.
  public func close() { gateway.loop.unsubscribe(id) }

  /// Iterates over the events alone.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let subscription: Subscription

    public mutating func next() async throws -> Event? {
      while let item = try await subscription.next() {
        if case .event(let event) = item { return event }
      }
      return nil
    }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscription: self) }

  /// Events with the gaps between them and the states of the connection, as far as they were asked for.
  public var items: Items { Items(subscription: self) }

  /// What `Subscription.items` is.
  public struct Items: AsyncSequence, Sendable {
    public typealias Element = Item
    fileprivate let subscription: Subscription

    public struct AsyncIterator: AsyncIteratorProtocol {
      fileprivate let subscription: Subscription
      public mutating func next() async throws -> Item? { try await subscription.next() }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscription: subscription) }
  }
}
