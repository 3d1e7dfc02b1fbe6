/// What waits in the queues of one local client's subscriptions, in bytes, against what may wait there.
final class ClientQueues {
  /// In the backlogs of all subscriptions.
  private(set) var count = 0
  /// What will be there, of subscriptions whose past is still looked through.
  private var pending = 0
  private let memory: MemoryHold
  private let output: ClientOutputs.Pointer

  init(_ memory: MemoryHold, before output: ClientOutputs.Pointer) {
    self.memory = memory
    self.output = output
  }

  func note(_ difference: Int) {
    count += difference
    memory.set(count + pending)
  }

  func notePending(_ difference: Int) {
    pending += difference
    memory.set(count + pending)
  }

  /// Whether so many bytes more may wait.
  func hasRoom(for more: Int, limit: Int) -> Bool { more <= room(limit) && memory.hasRoom(for: more) }

  /// How many bytes of the past may wait: at least what is written at once.
  func replayRoom(limit: Int) -> Int {
    max(min(room(limit), memory.room), ClientOutput.directLimit - output.pointee.count - pending)
  }

  private func room(_ limit: Int) -> Int { limit - count - pending - output.pointee.count }
}
