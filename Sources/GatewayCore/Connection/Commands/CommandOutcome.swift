/// What became of a command. Every accepted command has exactly one. What is long and rare stands apart: an outcome
/// is handed on often.
enum CommandOutcome: Equatable, Sendable {
  /// Written to the upstream's transport; no acknowledgement was wanted.
  case written
  /// The server acknowledged, with what.
  case acknowledged(RemoteAnswer)
  /// Written, understood, and declined by the application at the other end.
  indirect case failed(RemoteError)
  /// Certainly not sent: why there was no connection in time.
  indirect case down(UpstreamFailure)
  /// Certainly not sent: the server refuses the connection.
  indirect case refused(UpstreamFailure)
  /// Certainly not sent: what is known now of the server makes it impossible.
  case impossible(MessageProblem)
  /// Certainly not sent: its time-to-live ended in the queue.
  case expired
  /// Certainly not sent: the outbox could not keep it.
  indirect case notStored(StorageProblem)
  /// Certainly not sent: its sender has lost the right to.
  case denied
  /// Certainly not sent: a newer command took its place in the queue.
  case replaced
  /// Written, but the acknowledgement did not come in time: delivered or not is unknown.
  case acknowledgementTimeout
  /// Written, but the link broke before the acknowledgement: delivered or not is unknown.
  indirect case acknowledgementLost(UpstreamFailure)
}

extension CommandOutcome {
  /// The same end for a command that had been written before: nothing is certain about it any more.
  var afterWriting: CommandOutcome {
    switch self {
    case .down(let failure), .refused(let failure): .acknowledgementLost(failure)
    case .impossible:
      .acknowledgementLost(UpstreamFailure(.tooLarge, "the server takes it no more since it was connected again"))
    case .denied: .acknowledgementLost(UpstreamFailure(.requested, "the right to send was taken away"))
    case .expired: .acknowledgementTimeout
    case .written, .acknowledged, .failed, .notStored, .replaced, .acknowledgementTimeout, .acknowledgementLost: self
    }
  }
}

/// What became of a command at the moment it was handed over.
enum Submission: Equatable {
  case queued
  case written
  /// A volatile command that could not be written at once.
  case dropped
}

/// Why a send is not taken; nothing of it is kept. Units are words such as `bytes`.
enum SubmissionProblem: Error, Equatable {
  /// The queue of its connection has no room.
  case queueFull(SharedBounds.Overrun, unit: String)
  /// The link holds too many bytes that the server has not taken.
  case linkFull(SharedBounds.Overrun)
  case outboxFull(SharedBounds.Overrun, unit: String)
  /// It has more bytes than this setting leaves one user, also where nothing else waits.
  case neverFits(size: Int, limit: Int, setting: String)
  /// The outbox cannot keep it.
  case notStored(StorageProblem)
  /// It may not wait for a connection, and there is none.
  case down(UpstreamFailure)
  case impossible(MessageProblem)
  case released

  /// Refuses what is more than the queue, or the memory for what waits, leaves one user, also where nothing else waits.
  static func checkFits(_ size: Int, queue: Int, memory: Int?) throws(Self) {
    if size > queue { throw .neverFits(size: size, limit: queue, setting: "limits.send_queue_bytes") }
    if let memory, size > memory { throw .neverFits(size: size, limit: memory, setting: "limits.send_bytes") }
  }
}
