/// Answers to calls, each a whole line.
public enum LocalReply {
  /// A success. `body` writes the members of the result, whose object is open already.
  static func result(_ id: RequestID, _ body: (inout JSONWriter) -> Void) -> [UInt8] {
    var writer = JSONWriter()
    begin(id, into: &writer)
    body(&writer)
    end(&writer)
    return writer.bytes
  }

  /// What stands before the members of a result, by a writer that has written nothing yet.
  @inline(__always)
  static func begin(_ id: RequestID, into writer: inout JSONWriter) {
    writer.bytes.append(room: 48 + id.room) { out in
      out.put(#"{"jsonrpc":"2.0","id":"#)
      id.write(into: &out)
      out.put(#","result":{"#)
    }
  }

  /// What stands behind them.
  @inline(__always)
  static func end(_ writer: inout JSONWriter) {
    writer.bytes.append(UInt8(ascii: "}"))
    writer.bytes.append(UInt8(ascii: "}"))
    writer.bytes.append(UInt8(ascii: "\n"))
  }

  /// A failure, which fits into a line of so many bytes. The id is nil when the line that it answers was not
  /// understood.
  public static func error(_ id: RequestID?, _ error: LocalError, limit: Int) -> [UInt8] {
    let whole = line(id, error)
    guard whole.count > limit else { return whole }
    return line(id, error.fitting(limit, size: whole.count))
  }

  private static func line(_ id: RequestID?, _ error: LocalError) -> [UInt8] {
    var writer = JSONWriter()
    writer.bytes.append(#"{"jsonrpc":"2.0","id":"#)
    if let id { id.write(into: &writer) } else { writer.null() }
    writer.key("error")
    error.write(into: &writer)
    return writer.endLine()
  }
}

extension LocalError {
  /// The error object: code, message, and data with its type, whether to retry, and the facts. Texts are shortened.
  func write(into writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("code", kind.code)
    writer.member("message", message.shortened(to: Self.textLimit))
    writer.key("data")
    writer.beginObject()
    writer.member("type", kind.rawValue)
    if let retry = kind.retry {
      writer.key("retry")
      writer.bool(retry)
    }
    for fact in facts {
      writer.key(fact.name)
      switch fact.value {
      case .string(let text): writer.string(text.shortened(to: Self.textLimit))
      case .integer(let integer): writer.integer(integer)
      case .raw(let json): writer.raw(json)
      case .null: writer.null()
      }
    }
    writer.endObject()
    writer.endObject()
  }
}

extension JSONWriter {
  /// Closes the outermost object and ends the line.
  mutating func endLine() -> [UInt8] {
    endObject()
    bytes.append(UInt8(ascii: "\n"))
    return bytes
  }
}
