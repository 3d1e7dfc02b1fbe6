/// A subscription of a local client, and what the client holds for it: the connection, its lease on it, and room for its filter.
struct HeldSubscription {
  let subscription: Subscription
  let connection: Connection
  let lease: Lease
  /// What its filter takes of the user's share.
  let filter: FilterHold
}
