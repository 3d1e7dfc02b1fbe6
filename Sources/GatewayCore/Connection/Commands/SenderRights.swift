/// Whether the senders of one connection's commands still have the right to them. Rights change with the configuration alone:
/// each change begins another round, and each command is looked at once in a round, when its turn comes. Decision 0084.
struct SenderRights {
  private var round: UInt32 = 0
  /// Most commands have the sender of the one before, and few names occur again and again.
  private var last: (sender: AccessIdentity, right: AccessVerb, permit: RememberingPermit)?

  /// The rights may be others from now on.
  mutating func begin() {
    round &+= 1
    last = nil
  }

  /// Whether the sender of a command may have it written. `permit` says what the rules in force let one do.
  mutating func allow(_ command: Command, _ permit: (AccessVerb, AccessIdentity) -> EventPermit) -> Bool {
    guard command.rights.round != round else { return command.rights.areThere }
    if last?.sender != command.sender || last?.right != command.right {
      last = (command.sender, command.right, RememberingPermit(permit(command.right, command.sender)))
    }
    command.rights = (round, last?.permit.passes(command.message.event) ?? false)
    return command.rights.areThere
  }
}
