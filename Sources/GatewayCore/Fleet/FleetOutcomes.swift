/// What the server has of the durable sends that this host wrote for the fleet, by their ids.
///
/// Lives, adoptions and outcomes are in the engine, and a failover may undo them although they were confirmed. Then a send that
/// was written is said again: by its host in another life, or by the fleet. That a server has a message stays true whatever
/// the engine forgets, so this is no part of a conversation or a term.
final class FleetOutcomes {
  enum Outcome: Equatable {
    /// The server's machine has it, and no answer is awaited.
    case written
    case acknowledged(RemoteAnswer)
    /// The server answered with an error.
    case failed(RemoteError)

    /// What the host hears that waits for the answer under that number; nil where there is none.
    func reply(to ack: UInt64) -> FleetReplyEntry.Call? {
      switch self {
      case .written: nil
      case .acknowledged(let answer): .acknowledged(ack, answer)
      case .failed(let error): .failed(ack, error)
      }
    }

    var end: FleetSendEnd {
      switch self {
      case .written: FleetSendEnd(.sent)
      case .acknowledged(let answer): FleetSendEnd(.acked, answer: answer.args)
      case .failed(let error): FleetSendEnd(.refused, reason: error.name.shortened(to: 200))
      }
    }

    /// Bytes of an answer; of one that is longer than what is kept only the size is there.
    fileprivate var byteCount: Int {
      guard case .acknowledged(let answer) = self, !answer.isOmitted else { return 0 }
      return answer.byteCount
    }
  }

  /// Most that is kept, in sends and in bytes of their answers: what hosts may say again is what they had under way when
  /// the engine failed over.
  static let limit = (count: 32_768, bytes: 16 << 20)

  private var outcomes = IncrementalTable<String, Outcome>()
  /// The oldest first.
  private var ids = SizedRing<String>(limit: FleetOutcomes.limit)

  subscript(_ id: String) -> Outcome? { outcomes[id] }

  /// The first one counts. What the server has refused is not kept: its sender may have it sent again, as the same row.
  func note(_ outcome: Outcome, of id: String) {
    if case .failed = outcome { return }
    guard outcomes[id] == nil else { return }
    outcomes[id] = outcome
    ids.append(id, bytes: outcome.byteCount) { outcomes[$0] = nil }
  }
}
