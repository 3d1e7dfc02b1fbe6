/// Reads and writes the messages of a server, whose members the configuration names.
struct LinesProfile: Sendable {
  let settings: LinesSettings

  /// Most members that are looked at; a message with more cannot be shown.
  static let memberLimit = 1_000

  /// Longest name of a member that a profile gives a meaning, in bytes.
  static let memberNameLimit = 64

  init(_ settings: LinesSettings) { self.settings = settings }

  /// Why the settings contradict one another, as a sentence; nil when they do not.
  var problem: String? {
    let names = [settings.type, settings.id, settings.error] + (settings.body.isEmpty ? [] : [settings.body])
    if Set(names).count < names.count { return "lines.type, id, body and error must be different members" }
    if settings.heartbeat.answer != nil, settings.heartbeat.type == nil {
      return "lines.heartbeat.answer needs lines.heartbeat.type, which it answers"
    }
    if settings.login.type == nil, settings.login.accepted != nil || settings.login.refused != nil {
      return "lines.login.accepted and lines.login.refused need lines.login.type, which they answer"
    }
    if let accepted = settings.login.accepted, accepted == settings.login.refused {
      return "lines.login.accepted and lines.login.refused must be different types"
    }
    return nil
  }

  // MARK: - Writing

  /// What shows that a message was prepared with these names of members: a letter for the kind, and their fingerprint.
  var mark: [UInt8] {
    let names = [settings.type, settings.id, settings.error, settings.body, settings.end.rawValue]
    let print = Fingerprint.of(names.map { Array($0.utf8) })
    return [UInt8(ascii: "L")] + (0..<8).map { UInt8(truncatingIfNeeded: print >> (8 * $0)) }
  }

  /// How many bytes of a prepared message stand in front of its text.
  static let markSize = 9

  /// The line of a message, with its end. `body` is what an event's argument becomes, `more` the members of a JSON
  /// object without its braces; both are raw JSON text.
  func line(type: String, id: UInt64? = nil, body: [UInt8]? = nil, more: [UInt8] = []) -> [UInt8] {
    var line = head(type: type, id: id)
    line += tail(body: body, more: more)
    return line
  }

  /// The first part of a line: what is decided when it is written.
  func head(type: String, id: UInt64?) -> [UInt8] {
    var writer = JSONWriter(reserving: 64)
    writer.beginObject()
    writer.member(settings.type, type)
    if let id {
      writer.key(settings.id)
      writer.integer(id)
    }
    return writer.bytes
  }

  /// The rest of it: what is known when it is prepared.
  func tail(body: [UInt8]?, more: [UInt8]) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity((body?.count ?? 0) + more.count + settings.body.utf8.count + 8)
    if let body, settings.body.isEmpty {
      let members = Self.inside(body)
      if !members.isEmpty { text.append(UInt8(ascii: ",")) }
      text += members
    } else if let body {
      var writer = JSONWriter()
      writer.string(settings.body)
      text.append(UInt8(ascii: ","))
      text += writer.bytes
      text.append(UInt8(ascii: ":"))
      text += body
    }
    if !more.isEmpty { text.append(UInt8(ascii: ",")) }
    text += more
    text.append(UInt8(ascii: "}"))
    return text + (settings.end == .crlf ? [13, 10] : [10])
  }

  /// The members of an object, without its braces and the white space beside them.
  static func inside(_ object: [UInt8]) -> ArraySlice<UInt8> {
    let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x0a || $0 == 0x0d || $0 == 0x09 }
    var inside = object.drop(while: isSpace).dropFirst()
    while let last = inside.last, isSpace(last) { inside.removeLast() }
    inside.removeLast(inside.isEmpty ? 0 : 1)
    inside = inside.drop(while: isSpace)
    while let last = inside.last, isSpace(last) { inside.removeLast() }
    return inside
  }

  /// The names that a program's own members must not have.
  func isReserved(_ name: String) -> Bool {
    name == settings.type || name == settings.id || name == settings.error
      || (!settings.body.isEmpty && name == settings.body)
  }
}
