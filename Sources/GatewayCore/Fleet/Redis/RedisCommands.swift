/// What an engine is asked, as commands of Redis, and what their answers mean.
struct RedisCommands {
  let pipeline: RedisPipeline

  func run<Step: FleetStep>(_ step: Step, _ done: @escaping (FleetOutcome<Step.Result>) -> Void) {
    pipeline.run(Step.name, keys: step.keys, arguments: step.arguments) {
      done(FleetOutcome($0) { Step.result($0) })
    }
  }

  func append(
    _ fields: FleetFields, to key: FleetKey, at position: FleetPosition?,
    _ done: @escaping (FleetOutcome<FleetPosition>) -> Void
  ) {
    pipeline.ask(about: .init(call: "XADD", key: key)) {
      $0.write("XADD") {
        $0.append(key.text)
        if let position { $0.append(position) } else { $0.append("*" as StaticString) }
        for field in fields.all {
          $0.append(field.name)
          $0.append(field.value)
        }
      }
    } _: {
      done(FleetOutcome($0) { if case .bytes(let id) = $0 { FleetPosition(id.span.bytes) } else { nil } })
    }
  }

  func trim(_ key: FleetKey, before position: FleetPosition) {
    pipeline.ask(about: .init(call: "XTRIM", key: key)) {
      $0.write("XTRIM") {
        $0.append(key.text)
        $0.append("MINID" as StaticString)
        $0.append("~" as StaticString)
        $0.append(position)
      }
    } _: { _ in
    }
  }

  func newest(of key: FleetKey, _ done: @escaping (FleetOutcome<FleetRecord?>) -> Void) {
    pipeline.ask(about: .init(call: "XREVRANGE", key: key)) {
      $0.write("XREVRANGE") {
        $0.append(key.text)
        for word in ["+", "-", "COUNT", "1"] { $0.append(word) }
      }
    } _: {
      done(
        FleetOutcome($0) { reply -> FleetRecord?? in
          guard case .array(let entries) = reply else { return nil }
          guard let first = entries.first else { return .some(nil) }
          return FleetRecord(first).map { .some($0) }
        })
    }
  }

  func names(of key: FleetKey, _ done: @escaping (FleetOutcome<FleetNames>) -> Void) {
    pipeline.ask(about: .init(call: "HKEYS", key: key), isList: true) {
      $0.write("HKEYS") { $0.append(key.text) }
    } _: {
      done(FleetOutcome($0) { if case .array(let names) = $0 { FleetNames(names) } else { nil } })
    }
  }

  func sizes(of key: FleetKey, _ names: [String], _ done: @escaping (FleetOutcome<[Int]>) -> Void) {
    guard !names.isEmpty else { return pass(done, []) }
    var sizes: [Int] = []
    var failed: FleetOutcome<[Int]>?
    for (place, name) in names.enumerated() {
      pipeline.ask(about: .init(call: "HSTRLEN", key: key)) {
        $0.write("HSTRLEN") {
          $0.append(key.text)
          $0.append(name)
        }
      } _: {
        let outcome = FleetOutcome($0) { if case .integer(let size) = $0 { [Int(clamping: size)] } else { nil } }
        if case .done(let size) = outcome { sizes += size } else { failed = failed ?? outcome }
        // They are answered in their order.
        if place == names.count - 1 { done(failed ?? .done(sizes)) }
      }
    }
  }

  func rows(of key: FleetKey, _ names: [String]?, _ done: @escaping (FleetOutcome<[String: [UInt8]]>) -> Void) {
    guard names != [] else { return pass(done, [:]) }
    pipeline.ask(about: .init(call: names == nil ? "HGETALL" : "HMGET", key: key), isList: true) {
      $0.write(names == nil ? "HGETALL" : "HMGET") {
        $0.append(key.text)
        for name in names ?? [] { $0.append(name) }
      }
    } _: {
      done(FleetOutcome($0) { Self.rows($0, names) })
    }
  }

  func remove(_ names: [String], of key: FleetKey, _ done: @escaping (FleetOutcome<Void>) -> Void) {
    guard !names.isEmpty else { return pass(done, ()) }
    pipeline.ask(about: .init(call: "HDEL", key: key)) {
      $0.write("HDEL") {
        $0.append(key.text)
        for name in names { $0.append(name) }
      }
    } _: {
      done(FleetOutcome($0) { if case .integer = $0 { Optional(()) } else { nil } })
    }
  }

  /// Nothing to be asked, and yet an outcome in its order.
  private func pass<Value>(_ done: @escaping (FleetOutcome<Value>) -> Void, _ value: Value) {
    pipeline.ask({ $0.write("PING") }, { done(FleetOutcome($0) { _ in value }) })
  }

  private static func rows(_ reply: FleetReply, _ names: [String]?) -> [String: [UInt8]]? {
    guard case .array(let values) = reply else { return nil }
    var rows: [String: [UInt8]] = [:]
    if let names {
      guard names.count == values.count else { return nil }
      for (name, value) in zip(names, values) { if case .bytes(let bytes) = value { rows[name] = bytes } }
      return rows
    }
    guard values.count.isMultiple(of: 2) else { return nil }
    for at in stride(from: 0, to: values.count, by: 2) {
      guard case .bytes(let name) = values[at], case .bytes(let bytes) = values[at + 1] else { return nil }
      rows[String(decoding: name, as: UTF8.self)] = bytes
    }
    return rows
  }
}

extension FleetOutcome {
  /// What became of a call, by its answer; nil for one without.
  fileprivate init(_ reply: RedisPipeline.Reply?, _ read: (FleetReply) -> Value?) {
    switch reply {
    case nil: self = .unanswered
    case .uncopied: self = .uncopied
    case .value(let value):
      self = read(value).map { .done($0) } ?? .refused(.other("the server's answer makes no sense"))
    case .error(let error):
      switch error.meaning {
      case .fenced, .passed: self = .fenced
      case .refused(let refusal): self = .refused(refusal)
      // Ends the connection before anybody is told.
      case .unknownScript, .wrongServer: self = .unanswered
      }
    }
  }
}

extension FleetRecord {
  fileprivate init?(_ reply: FleetReply) {
    guard case .array(let parts) = reply, parts.count == 2, case .bytes(let id) = parts[0],
      case .array(let words) = parts[1], words.count.isMultiple(of: 2), let position = FleetPosition(id.span.bytes)
    else { return nil }
    var fields = FleetFields()
    for at in stride(from: 0, to: words.count, by: 2) {
      guard case .bytes(let name) = words[at], case .bytes(let value) = words[at + 1] else { return nil }
      fields.add(String(decoding: name, as: UTF8.self), value)
    }
    self.init(position: position, fields: fields)
  }
}

extension RESPWriter.Command {
  /// A position is a word of its two numbers.
  mutating func append(_ position: FleetPosition) { append(position.conversation, position.number) }
}

extension FleetPosition {
  /// From `21-1807`; nil for what is none.
  init?(_ bytes: RawSpan) {
    var dash = 0
    while dash < bytes.byteCount, JSONScanner.byte(bytes, dash) != UInt8(ascii: "-") { dash += 1 }
    guard dash < bytes.byteCount, let conversation = UInt64(decimal: bytes.extracting(0..<dash)),
      let number = UInt64(decimal: bytes.extracting((dash + 1)..<bytes.byteCount))
    else { return nil }
    self.init(conversation, number)
  }
}
