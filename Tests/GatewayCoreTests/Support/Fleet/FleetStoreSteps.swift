@testable import GatewayCore

/// The thirteen steps as `FleetStepName` describes them.
extension FleetStore {
  func run(_ name: FleetStepName, _ keys: [FleetKey], _ arguments: [[UInt8]]) -> Answer {
    let texts = arguments.map { String(decoding: $0, as: UTF8.self) }
    switch name {
    case .take: return take(keys, texts)
    case .join: return join(keys, texts, details: arguments[2])
    case .forget: return forget(keys, texts)
    case .alive, .put, .find:
      guard let row = hostRow(keys[0], texts[0]), String(row.life) == texts[1] else { return .fenced }
      if name == .put {
        set(keys[1], texts[2], arguments[3])
        return .reply(.integer(1))
      }
      if name == .find {
        let found = texts.dropFirst(2).map { rows(of: keys[1])[$0] }
        return .reply(.array(found.map { $0.map { .bytes(Self.hasNoOutcome($0) ? [$0[0]] : $0) } ?? .null }))
      }
      guard let beat = row.beat else { return .fenced }
      setHost(keys[0], texts[0], life: row.life, beat: beat + 1, details: arguments[2])
      return .reply(.integer(Int64(beat + 1)))
    case .beat, .move, .release, .open, .down, .done, .adopt:
      guard text(keys[0], "own") == texts[0] else { return .fenced }
    }
    switch name {
    case .take, .join, .alive, .put, .find, .forget: return .fenced
    case .beat:
      let beat = number(keys[0], "beat") + 1
      set(
        keys[0],
        [
          "beat": String(beat), "v": texts[1], "config": texts[2], "seq": texts[3], "why": texts[7], "at": texts[8],
        ])
      if !texts[4].isEmpty { set(keys[0], ["hosts": texts[4], "may": texts[5], "prefer": texts[6]]) }
      let up = content.streams[keys[1]]?.last ?? .start
      return .reply(
        .array([
          .integer(Int64(beat)), .bytes(Array((text(keys[0], "next") ?? "").utf8)), .bytes(Array(up.description.utf8)),
        ]))
    case .move where texts[2] == "1":
      let asks = number(keys[0], "asks") + 1
      set(keys[0], ["ask": texts[1], "asks": String(asks)])
      return .reply(.integer(Int64(asks)))
    case .move:
      set(keys[0], ["next": texts[1]])
      return .reply(.integer(1))
    case .release:
      set(keys[0], ["holder": ""])
      return .reply(.integer(1))
    case .open: return open(keys, texts)
    case .down:
      let marker = FleetMarker(
        .down(
          reason: texts[4], detail: texts[5],
          settled: text(keys[0], "c") == texts[6] ? UInt64(texts[6]) : nil),
        term: number(keys[0], "term"), epoch: texts[1], sequence: UInt64(texts[2]) ?? 0, offset: texts[3])
      return .reply(.integer(Int64(mark(keys, marker, isOpen: false))))
    case .done: return done(keys, arguments, texts)
    case .adopt: return adopt(keys, texts)
    }
  }

  private func number(_ key: FleetKey, _ name: String) -> UInt64 { text(key, name).flatMap { UInt64($0) } ?? 0 }

  private func take(_ keys: [FleetKey], _ texts: [String]) -> Answer {
    guard (text(keys[0], "own") ?? "") == texts[1], (text(keys[0], "beat") ?? "") == texts[2] else {
      return .reply(.null)
    }
    let next = text(keys[0], "next") ?? ""
    guard next == "" || next == "*" || next == texts[0] || texts[7] == "1" else { return .reply(.null) }
    remove(["next"], of: keys[0])
    var (least, known) = (UInt64(texts[4]) ?? 0, UInt64(texts[6]) ?? 0)
    if text(keys[0], "own") == nil {
      let wall = UInt64(texts[8]) ?? 0
      least = max(least, wall)
      if known > 0 { known = max(known, wall) }
    }
    let term = max(number(keys[0], "term"), known) + 1
    let last = newest(of: keys[1])
    let top = content.streams[keys[1]]?.last.conversation ?? 0
    let conversation = max(number(keys[0], "c"), least, top) + 1
    let seen = UInt64(texts[5]) ?? 0
    var sequence: UInt64 = 0
    if let last {
      sequence = last.fields.number("s") ?? last.position.number
    } else if seen > 0 {
      sequence = seen + 1 << 20
    }
    let epoch = text(keys[0], "epoch") ?? ""
    let offset = last?.fields.text("o") ?? ""
    let isSame = text(keys[0], "run") == texts[3]
    set(
      keys[0],
      [
        "term": String(term), "holder": texts[0], "own": "\(term)@\(texts[0])", "beat": "0", "c": String(conversation),
        "open": "0", "run": texts[3], "at": texts[3], "since": texts[8],
      ])
    var fields = FleetFields()
    FleetMarker(.take, term: term, epoch: epoch, sequence: sequence, offset: offset).add(to: &fields)
    _ = append(fields, to: keys[1], at: FleetPosition(conversation, 0))
    return .reply(
      .array([
        .integer(Int64(term)), .integer(Int64(conversation)), .integer(Int64(sequence)), .bytes(Array(epoch.utf8)),
        .bytes(Array(offset.utf8)), .bytes(Array((text(keys[0], "session") ?? "").utf8)), .integer(isSame ? 1 : 0),
      ]))
  }

  private func open(_ keys: [FleetKey], _ texts: [String]) -> Answer {
    set(keys[0], ["epoch": texts[2], "run": texts[1], "session": texts[5]])
    let marker = FleetMarker(
      .open(hosts: Int(texts[6]) ?? 1), term: number(keys[0], "term"), epoch: texts[2],
      sequence: UInt64(texts[3]) ?? 0, offset: texts[4])
    let conversation = mark(keys, marker, isOpen: true)
    let up = content.streams[keys[2]]?.last ?? .start
    return .reply(.array([.integer(Int64(conversation)), .bytes(Array(up.description.utf8))]))
  }

  private func mark(_ keys: [FleetKey], _ marker: FleetMarker, isOpen: Bool) -> UInt64 {
    let conversation = max(number(keys[0], "c"), content.streams[keys[1]]?.last.conversation ?? 0) + 1
    set(keys[0], ["c": String(conversation), "open": isOpen ? "1" : "0"])
    if isOpen { set(keys[0], ["why": ""]) }
    var fields = FleetFields()
    marker.add(to: &fields)
    _ = append(fields, to: keys[1], at: FleetPosition(conversation, 0))
    return conversation
  }

  private func done(_ keys: [FleetKey], _ arguments: [[UInt8]], _ texts: [String]) -> Answer {
    for at in stride(from: 4, to: arguments.count, by: 2) {
      let adopted = "\(texts[3])/\(texts[at])"
      guard rows(of: keys[2])[texts[at]] != nil || rows(of: keys[3])[adopted] != nil else { continue }
      remove([adopted], of: keys[3])
      set(keys[2], texts[at], arguments[at + 1])
    }
    var isNew = true
    if let position = FleetPosition(texts[1]), let fields = FleetFields(packed: arguments[2]) {
      isNew = append(fields, to: keys[1], at: position) != nil
    }
    return .reply(.integer(isNew ? 1 : 0))
  }

  private func adopt(_ keys: [FleetKey], _ texts: [String]) -> Answer {
    guard let row = hostRow(keys[3], texts[1]), String(row.life) == texts[2],
      row.beat.map({ String($0) }) == texts[3]
    else {
      return .reply(.null)
    }
    let box = rows(of: keys[1]).filter { $0.value.first == UInt8(ascii: "+") }
    for (name, value) in box {
      set(keys[2], "\(texts[1])/\(name)", value)
      adopted.insert("\(texts[1])/\(name)")
    }
    remove(Array(box.keys), of: keys[1])
    setHost(keys[3], texts[1], life: row.life + 1, beat: nil, details: row.details.fields.packed)
    return .reply(.array([.integer(Int64(row.life + 1)), .integer(Int64(box.count))]))
  }

  private func join(_ keys: [FleetKey], _ texts: [String], details: [UInt8]) -> Answer {
    let life = max(hostRow(keys[0], texts[0])?.life ?? 0, UInt64(texts[1]) ?? 0) + 1
    setHost(keys[0], texts[0], life: life, beat: 0, details: details)
    let names = rows(of: keys[1]).keys.sorted()
    return .reply(.array([.integer(Int64(life))] + names.map { .bytes(Array($0.utf8)) }))
  }

  private func forget(_ keys: [FleetKey], _ texts: [String]) -> Answer {
    func answer(_ word: String, _ count: Int = 0) -> Answer {
      .reply(.array([.bytes(Array(word.utf8)), .integer(Int64(count))]))
    }
    let isThere = rows(of: keys[0])[texts[0]] != nil
    if text(keys[1], "holder") == texts[0] { return answer("holds") }
    if hostRow(keys[0], texts[0])?.beat != nil { return answer("lives") }
    let waiting = rows(of: keys[4]).keys.count { $0.hasPrefix("\(texts[0])/") }
    if waiting > 0 { return answer("waits", waiting) }
    let box = rows(of: keys[2])
    let left = box.values.count { Self.hasNoOutcome($0) }
    if left > 0 { return answer("left", left) }
    guard isThere || !box.isEmpty || newest(of: keys[3]) != nil else { return answer("unknown") }
    guard texts[1] == "1" else { return answer("forgotten") }
    remove(Array(box.keys), of: keys[2])
    trim(keys[3], before: FleetPosition(.max, .max))
    remove([texts[0]], of: keys[0])
    return answer("forgotten")
  }

  private static func hasNoOutcome(_ row: [UInt8]) -> Bool {
    row.first == UInt8(ascii: "+") || row.first == UInt8(ascii: "-")
  }

  func hostRow(_ key: FleetKey, _ host: String) -> FleetHostRow? { rows(of: key)[host].flatMap { FleetHostRow($0) } }

  private func setHost(_ key: FleetKey, _ host: String, life: UInt64, beat: UInt64?, details: [UInt8]) {
    set(key, host, Array("\(life):\(beat.map { String($0) } ?? FleetHostRow.adopted):".utf8) + details)
  }
}
