extension SettingType<[EnterMessage]> {
  /// Messages, each an array of an event's name and its arguments.
  static var messages: Self {
    Self(
      "array",
      read: { (node) throws(SettingFindings) in
        guard case .array(let elements) = node.value else {
          throw SettingFindings(expected: expectation, found: node)
        }
        guard elements.count <= HeldEnter.countLimit else {
          throw SettingFindings("must have at most \(HeldEnter.countLimit) messages", at: node)
        }
        var messages: [EnterMessage] = []
        for element in elements {
          let message = try read(element)
          guard !messages.contains(message) else { throw SettingFindings("must not have a message twice", at: element) }
          messages.append(message)
        }
        guard messages.reduce(0, { $0 + $1.byteCount }) <= HeldEnter.byteLimit else {
          throw SettingFindings("must have at most \(HeldEnter.byteLimit) bytes", at: node)
        }
        return messages
      },
      write: { _ in nil })
  }

  private static let expectation = "an array of messages, each an array of an event's name and its arguments"

  private static func read(_ node: ConfigurationNode) throws(SettingFindings) -> EnterMessage {
    guard case .array(let elements) = node.value, let name = elements.first else {
      throw SettingFindings(expected: expectation, found: node)
    }
    let event = try name.text(expected: "the event's name, a string")
    guard (1...EventName.limit).contains(event.utf8.count) else {
      throw SettingFindings("must begin with an event's name of 1 to \(EventName.limit) bytes", at: name)
    }
    var writer = JSONWriter()
    writer.beginArray()
    for argument in elements.dropFirst() { try argument.writeJSON(into: &writer) }
    writer.endArray()
    return EnterMessage(event, args: writer.bytes)
  }
}
