/// What a local program asked a connection to write: it can wait, be found again, expire and be taken back. One object
/// from its acceptance to its outcome, which moves from one table to the next without being copied. Decision 0061.
final class Command {
  private let name: CommandID
  /// Orders all commands of the daemon by their acceptance.
  let number: UInt64
  /// What becomes of it where the daemon ends before it was written.
  var durability = Durability.memory
  /// Ready to be written; without its content once it is not going to be written any more.
  var message: PreparedMessage
  let delivery: DeliveryLevel
  /// After this instant it must not be written any more; nil lets it wait for ever.
  var expires: MonotonicInstant?
  /// Wall clock, in milliseconds since 1970.
  let acceptedAt: Int64
  var owner: CommandOwner
  /// What the call that waits for its outcome is told by; nil where none does.
  var call: Call?
  /// The uid of the program that sent it.
  var user: UInt32 { sender.uid }
  /// In whose name it is written.
  var sender = AccessIdentity(uid: 0, groups: [])
  /// What its sender needs the right to.
  var right = AccessVerb.send
  /// When the caller gives up: before the write the command is taken back, after it the acknowledgement is not awaited
  /// any more. Nil when no caller waits.
  var deadline: MonotonicInstant?
  /// May wait for a connection's first attempt, but for nothing else.
  var noQueue = false
  /// How it is tried again; nil writes it once.
  var retry: Retry?
  /// How long the acknowledgement of one write is waited for; nil sets no limit but `deadline`.
  var ackTimeout: Duration?
  /// As long as it is queued and was never written, a newer command with the same value takes its place.
  var coalescing: Coalescing?
  /// Of its event and content, where it has an idempotency key; else 0.
  var fingerprint: UInt64 = 0

  /// Whether its sender had the right to it when that was looked at last, in which round. Set by `SenderRights`.
  var rights: (round: UInt32, areThere: Bool) = (0, true)

  // MARK: - What its connection notes about it

  /// Where it stands in the queue whenever it is there; nil before its first place. Set by `CommandQueue`.
  var place: UInt64?
  /// Which table of its connection has it. Set by these.
  var stage = Stage.apart
  /// The deadline in force. Set by `CommandDeadlines`.
  var due: MonotonicInstant?
  /// Whether it may be why links broke.
  var suspicion = Suspicion()

  init(
    _ name: CommandID, number: UInt64, message: PreparedMessage, delivery: DeliveryLevel, expires: MonotonicInstant?,
    acceptedAt: Int64, owner: CommandOwner
  ) {
    self.name = name
    self.number = number
    self.message = message
    self.delivery = delivery
    self.expires = expires
    self.acceptedAt = acceptedAt
    self.owner = owner
  }

  convenience init(
    id: String, number: UInt64 = 0, message: PreparedMessage, delivery: DeliveryLevel, expires: MonotonicInstant?,
    acceptedAt: Int64, owner: CommandOwner
  ) {
    self.init(
      CommandID(id), number: number, message: message, delivery: delivery, expires: expires, acceptedAt: acceptedAt,
      owner: owner)
  }

  /// Whether its sender was told that it is taken, and hears no more of it.
  var isTaken: Bool { isStored || (delivery == .accepted && owner == .none) }

  /// The id by which local programs know it. Unique within the daemon.
  var id: String { name.text }
}

extension Command {
  /// How long a command lasts, and whether it may be written yet. The outbox finds its entry by the command's number.
  enum Durability {
    /// As long as the daemon, unless that moves it to the outbox when it stops.
    case memory
    /// The outbox keeps it, and its disk does not have it yet: it must not be written. May become `stored`.
    case storing
    /// The outbox has it on disk.
    case stored
  }

  /// It is kept in the outbox.
  var isStored: Bool { durability != .memory }
  /// It is not on disk and has to be before it may be written.
  var isUncommitted: Bool { durability == .storing }

  /// Where a command is between its acceptance and its outcome.
  enum Stage {
    /// In no table: not yet, on its way from one to the next, or with an outcome.
    case apart
    /// In `CommandQueue`, at its place. Each stay there has another number.
    case queued(stay: UInt64)
    /// In `CommandLedger`: written, and the kernel may not have taken it yet. With its number where the channel counts.
    case handedOver(UInt64)
    /// In `Flights`: written, and an acknowledgement is awaited.
    case underWay(Flight)
  }

  /// What is awaited of a written command.
  struct Flight {
    /// The acknowledgement id of the first write on this link.
    let ack: UInt64
    /// What was written, because the content may not be kept after that.
    let size: MessageSize
    /// When it was written last.
    private(set) var writtenAt: MonotonicInstant
    /// Those of the further ones; nil where there are none.
    private(set) var again: [UInt64]?
    /// When the newest of them has waited long enough; only with retries.
    var timer: Timers.ID?

    init(_ command: Command, _ ack: UInt64, at now: MonotonicInstant) {
      self.ack = ack
      size = MessageSize(command.message)
      writtenAt = now
    }

    var acks: [UInt64] { [ack] + (again ?? []) }

    /// It was written once more.
    mutating func addWrite(_ ack: UInt64, at now: MonotonicInstant) {
      again = (again ?? []) + [ack]
      writtenAt = now
    }
  }

  var isQueued: Bool { stay != nil }
  /// Which stay in the queue this is; nil while it is not there.
  var stay: UInt64? { if case .queued(let stay) = stage { stay } else { nil } }
  var isHandedOver: Bool { if case .handedOver = stage { true } else { false } }
  var flight: Flight? { if case .underWay(let flight) = stage { flight } else { nil } }
  /// It is under way, and will be written again where the server does not acknowledge it.
  var isTried: Bool { if case .underWay = stage { retry != nil } else { false } }
}

extension Command: Equatable {
  static func == (a: Command, b: Command) -> Bool { a === b }
}

extension Command {
  /// The call of a local program that is not answered yet.
  struct Call {
    let id: RequestID
    let form: SendForm
    /// Which has the command, and so is not kept by it.
    let connection: LightReference<Connection>
  }
}

/// How the outcome of a command is told to its caller.
enum SendForm: Equatable {
  case request
  case send(DeliveryLevel)
}

/// The call that waits for the outcome of a command.
enum CommandOwner: Hashable, Sendable {
  /// None any more: the call was answered as `accepted`, and the command outlives its client.
  case none
  /// A call that is not answered yet. `client` is the local session, `request` one call of it.
  case call(client: UInt64, request: UInt64)

  /// The local session that waits, if one does.
  var client: UInt64? {
    switch self {
    case .none: nil
    case .call(let client, _): client
    }
  }
}

/// How a command is written again that the server did not acknowledge: in one line with the others of its user, of
/// which as many are under way at a time as the upstream's `retry_window` says.
public struct Retry: Equatable, Sendable {
  /// Most writes after the first one.
  public static let limit = 100
  /// How long one write is waited for unless the caller says otherwise.
  static let usualAckTimeout: Duration = .seconds(3)

  /// Writes after the first one, at most.
  var again: Int
  /// The user whose commands keep their order among each other.
  var line: UInt32
  /// Writes so far.
  var writes = 0

  init(again: Int, line: UInt32) {
    self.again = again
    self.line = line
  }

  /// Whether it may be written once more.
  var mayWrite: Bool { writes <= again }
}

/// What a newer command has to share with an older one to take its place: one user cannot replace what another one
/// sent.
struct Coalescing: Hashable, Sendable {
  var user: UInt32
  var value: ExactText
  /// Asked for as durable: gives way only to what is durable too, once that is on disk.
  var isStored: Bool

  init(user: UInt32, value: String, isStored: Bool = false) {
    self.user = user
    self.value = ExactText(value)
    self.isStored = isStored
  }
}

extension Command {
  /// Its message, to be written for the last time: only what its outcome needs is kept.
  func takeMessage() -> PreparedMessage {
    var taken = PreparedMessage(event: message.event, body: [])
    swap(&taken, &message)
    return taken
  }

  /// It will not be written any more: only what its outcome needs is kept.
  func dropContent() { message.dropContent() }

  /// Whether the server is asked for an acknowledgement.
  var wantsAck: Bool { delivery == .acked || retry != nil }
  /// Links broke while it was under way: it waits until others have gone.
  var isSuspected: Bool { suspicion.isSuspected }
  /// It was written before: whether it arrived is unknown.
  var wasWritten: Bool { (retry?.writes ?? 0) > 0 }
}
