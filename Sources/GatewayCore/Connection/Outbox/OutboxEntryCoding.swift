extension OutboxChange.Snapshot {
  /// Appends the entry's array to what was written.
  public func encode(into writer: inout MsgpackRawWriter) { entry.encode(into: &writer) }
}

/// An entry as one MessagePack array, which is what the disk keeps of it beside its number. A later version adds members
/// at the end.
extension OutboxEntry {
  private static let memberCount = 24

  /// Inlined, because an entry that is handed over is copied.
  @inline(__always)
  fileprivate func encode(into writer: inout MsgpackRawWriter) {
    writer.array(Self.memberCount)
    writer.text(id)
    writer.unsigned(UInt64(owner))
    writer.array(groups.count)
    for group in groups { writer.unsigned(UInt64(group)) }
    writer.put(
      encoded: target.encoded
        ?? OutboxTarget.encode(target.name, namespace: target.namespace, target.options))
    writer.text(message.event)
    if message.isPlain {
      writer.binary(message.head)
      writer.array(0)
      writer.bool(true)
    } else {
      writer.binary(message.body)
      writer.array(message.attachmentCount)
      for attachment in message.attachments { writer.binary(attachment) }
      writer.bool(message.compress)
    }
    writer.text(delivery.rawValue)
    writer.integer(retries.map(Int64.init))
    writer.integer(ackTimeout)
    writer.text(coalesce)
    writer.text(key)
    writer.unsigned(fingerprint)
    writer.integer(created)
    writer.integer(expires)
    writer.integer(Int64(attempts))
    writer.text(state.rawValue)
    writer.text(reason)
    writer.integer(ended)
    writer.binary(result)
  }

  /// The entry of a number; nil if the bytes are not what `encode` writes.
  public init?(number: UInt64, encoded bytes: [UInt8]) {
    do {
      var members = try MsgpackMembers(bytes)
      let id = try members.text()
      let owner = try members.unsigned(UInt32.self)
      var groups: [UInt32] = []
      for _ in 0..<(try members.array()) { groups.append(try members.unsigned(UInt32.self)) }
      let (upstream, url) = (try members.optionalText(), try members.optionalText())
      guard
        let target = OutboxTarget(
          upstream: upstream, url: url, namespace: try members.text(), options: try members.optionalBinary())
      else { return nil }
      let (event, body) = (try members.text(), try members.binary())
      var attachments: [[UInt8]] = []
      for _ in 0..<(try members.array()) { attachments.append(try members.binary()) }
      var message = PreparedMessage(event: event, body: body, attachments: attachments)
      message.compress = try members.bool()
      guard let delivery = DeliveryLevel(rawValue: try members.text()) else { return nil }
      let (retries, ackTimeout) = (try members.optionalInteger(), try members.optionalInteger())
      let (coalesce, key) = (try members.optionalText(), try members.optionalText())
      self.init(
        number: number, id: id, owner: owner, target: target, message: message, delivery: delivery,
        fingerprint: try members.unsigned(UInt64.self), created: try members.integer(),
        expires: try members.optionalInteger())
      (self.groups, self.retries, self.ackTimeout) = (groups, retries.map { Int($0) }, ackTimeout)
      (self.coalesce, self.key) = (coalesce, key)
      attempts = Int(try members.integer())
      guard let state = OutboxState(rawValue: try members.text()) else { return nil }
      self.state = state
      reason = try members.optionalText()
      ended = try members.optionalInteger()
      result = try members.optionalBinary()
    } catch {
      return nil
    }
  }
}

extension OutboxTarget {
  /// Its members of an entry's array.
  static func encode(_ name: Name, namespace: String, _ options: TargetOptions?) -> [UInt8] {
    var writer = MsgpackRawWriter()
    switch name {
    case .upstream(let name):
      writer.text(name)
      writer.null()
    case .url(let url):
      writer.null()
      writer.text(url)
    }
    writer.text(namespace)
    writer.binary(options?.text)
    return writer.withBytes { [UInt8]($0) }
  }
}

/// Takes the members of a MessagePack array one after another, each as what it has to be.
private struct MsgpackMembers {
  private let bytes: [UInt8]
  private var at = 0

  init(_ bytes: [UInt8]) throws(MsgpackProblem) {
    self.bytes = bytes
    _ = try array()
  }

  private mutating func next() throws(MsgpackProblem) -> MsgpackScanner.Item {
    var place = at
    let item = try MsgpackScanner.next(bytes.span.bytes, &place)
    at = place
    return item
  }

  mutating func array() throws(MsgpackProblem) -> Int {
    guard case .array(let count) = try next() else { throw .malformed }
    return count
  }

  private static func required<Value>(_ value: Value?) throws(MsgpackProblem) -> Value {
    guard let value else { throw .malformed }
    return value
  }

  mutating func text() throws(MsgpackProblem) -> String { try Self.required(optionalText()) }

  mutating func optionalText() throws(MsgpackProblem) -> String? {
    switch try next() {
    case .null: return nil
    case .string(let range):
      return String(decoding: bytes[range], as: UTF8.self)
    default: throw .malformed
    }
  }

  mutating func binary() throws(MsgpackProblem) -> [UInt8] { try Self.required(optionalBinary()) }

  mutating func optionalBinary() throws(MsgpackProblem) -> [UInt8]? {
    switch try next() {
    case .null: return nil
    case .binary(let range): return Array(bytes[range])
    default: throw .malformed
    }
  }

  mutating func bool() throws(MsgpackProblem) -> Bool {
    guard case .bool(let value) = try next() else { throw .malformed }
    return value
  }

  mutating func integer() throws(MsgpackProblem) -> Int64 { try Self.required(optionalInteger()) }

  mutating func optionalInteger() throws(MsgpackProblem) -> Int64? {
    switch try next() {
    case .null: return nil
    case .integer(let value): return value
    default: throw .malformed
    }
  }

  mutating func unsigned<Number: FixedWidthInteger>(_: Number.Type) throws(MsgpackProblem) -> Number {
    let value: Number? =
      switch try next() {
      case .integer(let value): Number(exactly: value)
      case .unsigned(let value): Number(exactly: value)
      default: nil
      }
    return try Self.required(value)
  }
}
