import Testing

@testable import GatewayCore

/// What every engine of a fleet has to do, as cases that are run with each of them: with the one in memory, and with the
/// one on a real server.
struct FleetEngineCase: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let run: @Sendable (any FleetEngineBench) throws -> Void

  init(_ description: String, _ run: @escaping @Sendable (any FleetEngineBench) throws -> Void) {
    testDescription = description
    self.run = run
  }
}

extension FleetEngineCase {
  static let all = steps + streams + tables + connection

  private static let steps = [
    FleetEngineCase("a lease is taken only as it was seen") { bench throws in
      #expect(try bench.take("a")?.term == 1)
      #expect(try bench.take("b") == nil)
      let own = FleetOwn(term: 1, host: "a")
      #expect(try bench.step(FleetBeat(place: bench.place, own: own)) == .done(FleetBeaten(beat: 1)))
      #expect(try bench.take("b", FleetSight(own: own.text, beat: "0")) == nil)
      let taken = try bench.take("b", FleetSight(own: own.text, beat: "1"))
      #expect(taken == FleetTaken(term: 2, conversation: 2, sequence: 0, epoch: "", isSameRun: true))
      #expect(try bench.step(FleetBeat(place: bench.place, own: own)) == .fenced)
      #expect(try bench.step(FleetRelease(place: bench.place, own: own)) == .fenced)
    },
    FleetEngineCase("a released lease has no holder") { bench throws in
      _ = try bench.take("a")
      #expect(try bench.step(FleetRelease(place: bench.place, own: FleetOwn(term: 1, host: "a"))) == .done(true))
      #expect(try bench.rows(.lease)["holder"] == [])
    },
    FleetEngineCase("a question whether hosts live does not move the lease") { bench throws in
      _ = try bench.take("a")
      let (place, own) = (bench.place, FleetOwn(term: 1, host: "a"))
      #expect(try bench.step(FleetMove(place: place, own: own, host: "c", isQuestion: true)) == .done(true))
      #expect(try bench.step(FleetMove(place: place, own: own, isQuestion: true)) == .done(true))
      let record = FleetLeaseRecord(try bench.rows(.lease))
      #expect(record.asks == 2 && record.asked == "*" && record.next == "")
    },
    FleetEngineCase("a lease that is to move is taken by the named host alone, or by one that is late") {
      bench throws in
      _ = try bench.take("a")
      let (place, own) = (bench.place, FleetOwn(term: 1, host: "a"))
      #expect(try bench.step(FleetMove(place: place, own: FleetOwn(term: 1, host: "z"), host: "c")) == .fenced)
      #expect(try bench.step(FleetMove(place: place, own: own, host: "c")) == .done(true))
      let beat = FleetBeat(place: place, own: own)
      #expect(try bench.step(beat) == .done(FleetBeaten(beat: 1, next: "c")))
      #expect(try bench.step(FleetRelease(place: place, own: own)) == .done(true))
      let seen = FleetSight(own: own.text, beat: "1")
      #expect(try bench.take("b", seen) == nil)
      #expect(try bench.take("c", seen)?.term == 2)
      #expect(try bench.rows(.lease)["next"] == nil)
      // Any other host, which is not the one that has it.
      let second = FleetOwn(term: 2, host: "c")
      _ = try bench.step(FleetMove(place: place, own: second))
      #expect(try bench.take("b", FleetSight(own: second.text, beat: "0"))?.term == 3)
      // Who was to have it died.
      _ = try bench.step(FleetMove(place: place, own: FleetOwn(term: 3, host: "b"), host: "d"))
      let late = FleetTake(
        place: place, host: "e", seen: FleetSight(own: "3@b", beat: "0"), run: bench.run, isLate: true, since: 17)
      guard case .done(let taken?) = try bench.step(late) else { throw NotDone() }
      #expect(taken.term == 4)
      #expect(FleetLeaseRecord(try bench.rows(.lease)).since == 17)
    },
    FleetEngineCase("a beat says what the fleet has agreed upon") { bench throws in
      _ = try bench.take("a")
      let own = FleetOwn(term: 1, host: "a")
      let beat = FleetBeat(
        place: bench.place, own: own, version: 3, agreement: FleetAgreement("kind=x url=1"), sequence: 41,
        census: FleetCensus(living: 12, willing: 3, prefers: true))
      _ = try bench.step(beat)
      let record = FleetLeaseRecord(try bench.rows(.lease))
      #expect(record.own == own)
      #expect([record.version, record.sequence] == [3, 41])
      #expect(record.agreement.digests == ["kind": "x", "url": "1"])
      #expect([record.hosts, record.willing] == [12, 3] && record.isPreferred)
      // Not known yet: what was said before stays.
      _ = try bench.step(FleetBeat(place: bench.place, own: own, version: 3))
      #expect(FleetLeaseRecord(try bench.rows(.lease)).hosts == 12)
    },
    FleetEngineCase("an event behind a take-over is fenced") { bench throws in
      _ = try bench.take("a")
      let own = FleetOwn(term: 1, host: "a")
      let open = FleetOpen(
        place: bench.place, own: own, run: bench.run, epoch: "e1", sequence: 0, session: "s", hosts: 3)
      #expect(try bench.step(open) == .done(FleetOpened(conversation: 2, up: .start)))
      #expect(try bench.append(1, at: FleetPosition(2, 1)) == .done(FleetPosition(2, 1)))
      #expect(try bench.append(1, at: FleetPosition(2, 1)) == .fenced)
      #expect(try bench.take("b", FleetSight(own: own.text, beat: "0"))?.conversation == 3)
      #expect(try bench.append(2, at: FleetPosition(2, 2)) == .fenced)
    },
    FleetEngineCase("a new holder goes on where the last one was") { bench throws in
      _ = try bench.take("a")
      let own = FleetOwn(term: 1, host: "a")
      _ = try bench.step(
        FleetOpen(place: bench.place, own: own, run: bench.run, epoch: "e1", sequence: 0, session: "s"))
      var fields = FleetFields()
      fields.add("o", "17")
      _ = try bench.outcome { bench.engine.append(fields, to: bench.place.key(.events), at: FleetPosition(2, 9), $0) }
      let taken = try bench.take("b", FleetSight(own: own.text, beat: "0"))
      #expect(
        taken
          == FleetTaken(
            term: 2, conversation: 3, sequence: 9, epoch: "e1", resumption: Resumption(session: "s", offset: "17"),
            isSameRun: true))
      // Of a marker it is what the marker says.
      let next = try bench.take("c", FleetSight(own: "2@b", beat: "0"))
      #expect([next?.conversation, next?.sequence] == [4, 9])
    },
    FleetEngineCase("an end has its marker") { bench throws in
      _ = try bench.take("a")
      let own = FleetOwn(term: 1, host: "a")
      let down = FleetDown(
        place: bench.place, own: own, epoch: "e", sequence: 7, offset: "o", reason: "closed", detail: "it was closed")
      #expect(try bench.step(down) == .done(2))
      let newest = try bench.done { bench.engine.newest(of: bench.place.key(.events), $0) }
      let marker = FleetMarker(
        .down(reason: "closed", detail: "it was closed"), term: 1, epoch: "e", sequence: 7, offset: "o")
      #expect(newest?.position == FleetPosition(2, 0))
      #expect(newest.flatMap { FleetEntry($0.fields) } == .marker(marker))
    },
    FleetEngineCase("an end settles the last conversation and no other") { bench throws in
      _ = try bench.take("a")
      let own = FleetOwn(term: 1, host: "a")
      for (settled, isLast) in [(1, true), (1, false)] as [(UInt64, Bool)] {
        let down = FleetDown(
          place: bench.place, own: own, epoch: "e", sequence: 7, reason: "fleet", detail: "over", settled: settled)
        _ = try bench.step(down)
        let newest = try bench.done { bench.engine.newest(of: bench.place.key(.events), $0) }
        let marker = FleetMarker(
          .down(reason: "fleet", detail: "over", settled: isLast ? settled : nil), term: 1, epoch: "e", sequence: 7)
        #expect(newest.flatMap { FleetEntry($0.fields) } == .marker(marker))
      }
    },
    FleetEngineCase("an emptied server leaves numbers out") { bench throws in
      let skipped: UInt64 = 1 << 20
      #expect(try bench.take("a", sequence: 40)?.sequence == 40 + skipped)
    },
    FleetEngineCase("a host that was adopted is fenced") { bench throws in
      _ = try bench.take("a")
      let place = bench.place
      let details = FleetHostDetails()
      let join = FleetJoin(place: place, host: "b", life: 0, details: details)
      #expect(try bench.step(join) == .done(FleetJoined(life: 1, names: [])))
      let row = FleetBoxRow.waiting(FleetEngineListener.sample)
      let put = FleetPut(place: place, host: "b", life: 1, name: "7", row: row)
      #expect(try bench.step(put) == .done(true))
      #expect(try bench.step(FleetAlive(place: place, host: "b", life: 1, details: details)) == .done(1))
      let own = FleetOwn(term: 1, host: "a")
      #expect(try bench.step(FleetAdopt(place: place, own: own, host: "b", life: 1, beat: 0)) == .done(nil))
      let adopted = try bench.step(FleetAdopt(place: place, own: own, host: "b", life: 1, beat: 1))
      #expect(adopted == .done(FleetAdopted(life: 2, rows: 1)))
      #expect(try bench.step(put) == .fenced)
      #expect(try bench.step(FleetAlive(place: place, host: "b", life: 1, details: details)) == .fenced)
      #expect(try bench.rows(.adopted) == ["b/7": row.bytes])
      #expect(try bench.rows(.box(host: "b")) == [:])
      #expect(try bench.rows(.hosts)["b"].flatMap { FleetHostRow($0) }?.details == details)
      // The next holder has nothing to adopt of it.
      #expect(try bench.rows(.hosts)["b"].flatMap { FleetHostRow($0) }?.isAdopted == true)
      #expect(try bench.step(FleetAdopt(place: place, own: own, host: "b", life: 2, beat: 0)) == .done(nil))
      let again = FleetJoin(place: place, host: "b", life: 1, details: details)
      #expect(try bench.step(again) == .done(FleetJoined(life: 3, names: [])))
    },
    FleetEngineCase("a host that was adopted is forgotten when its sends are written, and joins anew") { bench throws in
      _ = try bench.take("a")
      let (place, own, details) = (bench.place, FleetOwn(term: 1, host: "a"), FleetHostDetails())
      func forget(_ host: String, isTrial: Bool = false) throws -> FleetForgotten {
        try bench.done { bench.engine.run(FleetForget(place: place, host: host, isTrial: isTrial), $0) }
      }
      #expect(try forget("a") == .holds)
      #expect(try forget("b") == .unknown)
      _ = try bench.step(FleetJoin(place: place, host: "b", life: 0, details: details))
      _ = try bench.step(FleetJoin(place: place, host: "bb", life: 0, details: details))
      for host in ["b", "bb"] {
        let row = FleetBoxRow.waiting(FleetEngineListener.sample)
        _ = try bench.step(FleetPut(place: place, host: host, life: 1, name: "x", row: row))
      }
      #expect(try forget("b") == .lives)
      for host in ["b", "bb"] { _ = try bench.step(FleetAdopt(place: place, own: own, host: host, life: 1, beat: 0)) }
      #expect(try forget("b") == .waits(1))
      let reply = FleetRecord(position: FleetPosition(2, 1), fields: FleetEngineListener.sample)
      let outcome = FleetBoxRow.finished(FleetFields())
      _ = try bench.step(FleetDone(place: place, own: own, host: "b", reply: reply, outcomes: ["x": outcome]))
      #expect(try forget("b", isTrial: true) == .forgotten)
      #expect(try bench.rows(.box(host: "b")) == ["x": outcome.bytes])
      #expect(try forget("b") == .forgotten)
      #expect(try bench.rows(.hosts).keys.sorted() == ["bb"])
      #expect(try bench.rows(.box(host: "b")) == [:])
      #expect(try bench.rows(.adopted).keys.sorted() == ["bb/x"])
      #expect(try bench.done { bench.engine.newest(of: place.key(.replies(host: "b")), $0) } == nil)
      #expect(try forget("b") == .unknown)
      let again = FleetJoin(place: place, host: "b", life: 1, details: details)
      #expect(try bench.step(again) == .done(FleetJoined(life: 2, names: [])))
      #expect(try forget("b") == .lives)
    },
    FleetEngineCase("sends in the box of a host without a row are not forgotten") { bench throws in
      let (place, details) = (bench.place, FleetHostDetails())
      _ = try bench.step(FleetJoin(place: place, host: "b", life: 0, details: details))
      let row = FleetBoxRow.waiting(FleetEngineListener.sample)
      _ = try bench.step(FleetPut(place: place, host: "b", life: 1, name: "x", row: row))
      _ = try bench.done { bench.engine.remove(["b"], of: place.key(.hosts), $0) }
      #expect(try bench.step(FleetForget(place: place, host: "b")) == .done(.left(1)))
      #expect(try bench.rows(.box(host: "b")) == ["x": row.bytes])
    },
    FleetEngineCase("a send that its sender may not send stays with its host that died, and is not forgotten") {
      bench throws in
      _ = try bench.take("a")
      let (place, own, details) = (bench.place, FleetOwn(term: 1, host: "a"), FleetHostDetails())
      _ = try bench.step(FleetJoin(place: place, host: "b", life: 0, details: details))
      let withheld = FleetBoxRow.withheld(FleetEngineListener.sample)
      _ = try bench.step(FleetPut(place: place, host: "b", life: 1, name: "x", row: withheld))
      #expect(try bench.step(FleetFind(place: place, host: "b", life: 1, names: ["x"])) == .done([.withheld]))
      let adopted = try bench.step(FleetAdopt(place: place, own: own, host: "b", life: 1, beat: 0))
      #expect(adopted == .done(FleetAdopted(life: 2, rows: 0)))
      #expect(try bench.rows(.adopted) == [:] && bench.rows(.box(host: "b")) == ["x": withheld.bytes])
      #expect(try bench.step(FleetForget(place: place, host: "b")) == .done(.left(1)))
      let joined = try bench.step(FleetJoin(place: place, host: "b", life: 2, details: details))
      #expect(joined == .done(FleetJoined(life: 3, names: ["x"])))
    },
    FleetEngineCase("an outcome leaves no row that waits, wherever there is one") { bench throws in
      _ = try bench.take("a")
      let (place, own, details) = (bench.place, FleetOwn(term: 1, host: "a"), FleetHostDetails())
      let (waiting, outcome) = (FleetBoxRow.waiting(FleetEngineListener.sample), FleetBoxRow.finished(FleetFields()))
      _ = try bench.step(FleetJoin(place: place, host: "b", life: 0, details: details))
      _ = try bench.step(FleetPut(place: place, host: "b", life: 1, name: "x", row: waiting))
      _ = try bench.step(FleetAdopt(place: place, own: own, host: "b", life: 1, beat: 0))
      _ = try bench.step(FleetJoin(place: place, host: "b", life: 2, details: details))
      _ = try bench.step(FleetPut(place: place, host: "b", life: 3, name: "x", row: waiting))
      _ = try bench.step(FleetDone(place: place, own: own, host: "b", outcomes: ["x": outcome]))
      #expect(try bench.rows(.adopted) == [:])
      #expect(try bench.rows(.box(host: "b")) == ["x": outcome.bytes])
    },
    FleetEngineCase("a life that no host gives is none") { bench throws in
      let (place, details) = (bench.place, FleetHostDetails())
      for (last, life) in [(FleetHostRow.lifeLimit + 1, FleetHostRow.lifeLimit + 2), (6, 7)] {
        let joined = try bench.step(FleetJoin(place: place, host: "b", life: last, details: details))
        #expect(joined == .done(FleetJoined(life: life, names: [])))
      }
    },
    FleetEngineCase("how long rows are is known before they are read") { bench throws in
      _ = try bench.step(FleetJoin(place: bench.place, host: "b", life: 0, details: FleetHostDetails()))
      let row = FleetBoxRow.waiting(FleetEngineListener.sample)
      _ = try bench.step(FleetPut(place: bench.place, host: "b", life: 1, name: "x", row: row))
      let sizes = try bench.done { bench.engine.sizes(of: bench.place.key(.box(host: "b")), ["y", "x"], $0) }
      #expect(sizes == [0, row.bytes.count])
    },
    FleetEngineCase("a host finds where its sends are, and what waits is not read") { bench throws in
      let place = bench.place
      let join = FleetJoin(place: place, host: "b", life: 6, details: FleetHostDetails())
      #expect(try bench.step(join) == .done(FleetJoined(life: 7, names: [])))
      for (name, row) in [("1", FleetBoxRow.waiting(FleetEngineListener.sample)), ("2", .finished(FleetFields()))] {
        #expect(try bench.step(FleetPut(place: place, host: "b", life: 7, name: name, row: row)) == .done(true))
      }
      var find = FleetFind(place: place, host: "b", life: 7, names: ["3", "2", "1"])
      #expect(try bench.step(find) == .done([.missing, .finished(FleetFields()), .waiting]))
      find.life = 6
      #expect(try bench.step(find) == .fenced)
    },
    FleetEngineCase("outcomes and the reply go in one step, twice is once") { bench throws in
      _ = try bench.take("a")
      let (place, own) = (bench.place, FleetOwn(term: 1, host: "a"))
      _ = try bench.step(FleetJoin(place: place, host: "b", life: 0, details: FleetHostDetails()))
      let waiting = FleetBoxRow.waiting(FleetEngineListener.sample)
      for number in [7, 9] as [UInt64] {
        _ = try bench.step(FleetPut(place: place, host: "b", life: 1, name: String(number), row: waiting))
      }
      let reply = FleetRecord(position: FleetPosition(2, 1), fields: FleetEngineListener.sample)
      let outcome = FleetBoxRow.finished(FleetFields())
      let done = FleetDone(place: place, own: own, host: "b", reply: reply, outcomes: ["7": outcome, "8": outcome])
      #expect(try bench.step(done) == .done(true))
      #expect(try bench.step(done) == .done(false))
      #expect(try bench.rows(.box(host: "b")) == ["7": outcome.bytes, "9": waiting.bytes])
      #expect(try bench.done { bench.engine.newest(of: place.key(.replies(host: "b")), $0) } == reply)
      let joined = try bench.step(FleetJoin(place: place, host: "b", life: 1, details: FleetHostDetails()))
      #expect(joined == .done(FleetJoined(life: 2, names: ["7", "9"])))
      let later = FleetDone(place: place, own: own, host: "b", outcomes: ["7": outcome])
      #expect(try bench.step(later) == .done(true))
    },
    FleetEngineCase("an outcome finds a row that was adopted meanwhile") { bench throws in
      _ = try bench.take("a")
      let (place, own) = (bench.place, FleetOwn(term: 1, host: "a"))
      _ = try bench.step(FleetJoin(place: place, host: "b", life: 0, details: FleetHostDetails()))
      let waiting = FleetBoxRow.waiting(FleetEngineListener.sample)
      for name in ["x-1", "x-2"] {
        _ = try bench.step(FleetPut(place: place, host: "b", life: 1, name: name, row: waiting))
      }
      _ = try bench.step(FleetAdopt(place: place, own: own, host: "b", life: 1, beat: 0))
      let outcome = FleetBoxRow.finished(FleetFields())
      let done = FleetDone(place: place, own: own, host: "b", outcomes: ["x-2": outcome])
      #expect(try bench.step(done) == .done(true))
      #expect(try bench.rows(.adopted) == ["b/x-1": waiting.bytes])
      #expect(try bench.rows(.box(host: "b")) == ["x-2": outcome.bytes])
      // What has its outcome stays its host's when that dies again.
      let details = FleetHostDetails()
      let joined = try bench.step(FleetJoin(place: place, host: "b", life: 2, details: details))
      #expect(joined == .done(FleetJoined(life: 3, names: ["x-2"])))
      let again = try bench.step(FleetAdopt(place: place, own: own, host: "b", life: 3, beat: 0))
      #expect(again == .done(FleetAdopted(life: 4, rows: 0)))
      #expect(try bench.rows(.box(host: "b")) == ["x-2": outcome.bytes])
    },
  ]

  private static let streams = [
    FleetEngineCase("a stream tells what there was, its end, and what comes") { bench throws in
      let listener = FleetEngineListener()
      for number in 1...3 as ClosedRange<UInt64> { _ = try bench.append(number, at: FleetPosition(1, number)) }
      bench.engine.add(listener)
      bench.engine.readOn(bench.place.key(.events), after: FleetPosition(1, 1), for: listener)
      #expect(try bench.goOn { listener.words.contains(.end("ev")) })
      #expect(
        listener.words.filter { $0 != .gained(bench.run) } == [
          .record("ev", FleetPosition(1, 2)), .record("ev", FleetPosition(1, 3)), .end("ev"),
        ])
      _ = try bench.append(4, at: FleetPosition(1, 4))
      #expect(try bench.goOn { listener.positions(of: "ev").count == 3 })
      #expect(listener.records.last == FleetRecord(position: FleetPosition(1, 4), fields: type(of: bench).fields(4)))
    },
    FleetEngineCase("a stream that is not there has an end, too") { bench throws in
      let listener = FleetEngineListener()
      bench.engine.readOn(bench.place.key(.up), after: .start, for: listener)
      #expect(try bench.goOn { listener.words == [.end("up")] })
      #expect(try bench.append(1, at: nil, to: .up) != .fenced)
      #expect(try bench.goOn { listener.records.count == 1 })
    },
    FleetEngineCase("the engine gives rising positions") { bench throws in
      var last = FleetPosition.start
      for number in 1...20 as ClosedRange<UInt64> {
        guard case .done(let position) = try bench.append(number, at: nil, to: .up) else { throw NotDone() }
        #expect(position > last)
        last = position
      }
    },
    FleetEngineCase("what is read on anew goes on from there instead") { bench throws in
      let listener = FleetEngineListener()
      let key = bench.place.key(.events)
      for number in 1...3 as ClosedRange<UInt64> { _ = try bench.append(number, at: FleetPosition(1, number)) }
      bench.engine.readOn(key, after: FleetPosition(1, 2), for: listener)
      #expect(try bench.goOn { listener.words.contains(.end("ev")) })
      listener.words = []
      bench.engine.readOn(key, after: .start, for: listener)
      #expect(try bench.goOn { listener.words.contains(.end("ev")) })
      #expect(listener.positions(of: "ev") == [1, 2, 3].map { FleetPosition(1, $0) })
    },
    FleetEngineCase("two receivers of a stream each get what is theirs") { bench throws in
      let (first, second) = (FleetEngineListener(), FleetEngineListener())
      let key = bench.place.key(.events)
      for number in 1...3 as ClosedRange<UInt64> { _ = try bench.append(number, at: FleetPosition(1, number)) }
      bench.engine.readOn(key, after: FleetPosition(1, 2), for: first)
      #expect(try bench.goOn { first.words.contains(.end("ev")) })
      bench.engine.readOn(key, after: .start, for: second)
      #expect(try bench.goOn { second.words.contains(.end("ev")) })
      _ = try bench.append(4, at: FleetPosition(1, 4))
      #expect(try bench.goOn { first.records.count == 2 && second.records.count == 4 })
      #expect(first.positions(of: "ev") == [3, 4].map { FleetPosition(1, $0) })
      bench.engine.remove(first)
      _ = try bench.append(5, at: FleetPosition(1, 5))
      #expect(try bench.goOn { second.records.count == 5 })
      #expect(first.records.count == 2)
    },
    FleetEngineCase("what is read no more is told no more") { bench throws in
      let (listener, other) = (FleetEngineListener(), FleetEngineListener())
      let key = bench.place.key(.events)
      for listener in [listener, other] { bench.engine.readOn(key, after: .start, for: listener) }
      #expect(try bench.goOn { listener.words == [.end("ev")] && other.words == [.end("ev")] })
      bench.engine.readNoMore(key, for: listener)
      _ = try bench.append(1, at: FleetPosition(1, 1))
      #expect(try bench.goOn { other.records.count == 1 })
      #expect(listener.records.isEmpty)
    },
    FleetEngineCase("a stream that was asked for earlier is never behind a later one") { bench throws in
      let listener = FleetEngineListener()
      let (replies, events) = (bench.place.key(.replies(host: "h")), bench.place.key(.events))
      var wrong: [String] = []
      listener.onRead = { key in
        let (early, late) = (listener.positions(of: "re:h").last, listener.positions(of: "ev").last)
        if let late, (early?.number ?? 0) < late.number { wrong.append("\(late) before \(early ?? .start)") }
      }
      func write(_ numbers: ClosedRange<UInt64>) {
        for number in numbers {
          for key in [replies, events] {
            bench.other.append(type(of: bench).fields(number), to: key, at: FleetPosition(1, number)) { _ in }
          }
        }
      }
      write(1...40)
      #expect(try bench.done { bench.other.newest(of: events, $0) } != nil)
      bench.engine.readOn(replies, after: .start, for: listener)
      bench.engine.readOn(events, after: .start, for: listener)
      write(41...80)
      #expect(try bench.goOn { listener.records.count == 160 })
      write(81...120)
      #expect(try bench.goOn { listener.records.count == 240 })
      #expect(wrong == [])
      #expect(listener.positions(of: "ev") == (1...120).map { FleetPosition(1, $0) })
      #expect(listener.positions(of: "re:h") == (1...120).map { FleetPosition(1, $0) })
    },
    FleetEngineCase("what is trimmed is gone, and its place is not given again") { bench throws in
      let key = bench.place.key(.events)
      for number in 1...300 as ClosedRange<UInt64> {
        bench.engine.append(type(of: bench).fields(number), to: key, at: FleetPosition(1, number)) { _ in }
      }
      bench.engine.trim(key, before: FleetPosition(1, 300))
      #expect(try bench.append(300, at: FleetPosition(1, 300)) == .fenced)
      let listener = FleetEngineListener()
      bench.engine.readOn(key, after: .start, for: listener)
      #expect(try bench.goOn { listener.words.contains(.end("ev")) })
      // An engine may keep some more.
      #expect(listener.records.count < 200)
      #expect(listener.records.last?.position == FleetPosition(1, 300))
    },
  ]

  private static let tables = [
    FleetEngineCase("rows that are not there are left out") { bench throws in
      _ = try bench.step(FleetJoin(place: bench.place, host: "b", life: 0, details: FleetHostDetails()))
      var rows: [String: [UInt8]] = [:]
      for number in 1...5 as ClosedRange<UInt64> {
        var fields = FleetFields()
        fields.add("n", number)
        let row = FleetBoxRow.waiting(fields)
        rows[String(number)] = row.bytes
        _ = try bench.step(FleetPut(place: bench.place, host: "b", life: 1, name: String(number), row: row))
      }
      #expect(try bench.rows(.box(host: "b")) == rows)
      #expect(try bench.rows(.box(host: "b"), ["2", "9"]) == rows.filter { $0.key == "2" })
      #expect(try bench.rows(.box(host: "b"), []) == [:])
      #expect(try bench.names(.box(host: "b")).sorted() == rows.keys.sorted())
      #expect(try bench.names(.box(host: "nobody")) == [])
      #expect(try bench.rows(.box(host: "nobody")) == [:])
      #expect(try bench.rows(.box(host: "nobody"), ["1"]) == [:])
      let key = bench.place.key(.box(host: "b"))
      try bench.done { bench.engine.remove(["1", "2", "9"], of: key, $0) } as Void
      try bench.done { bench.engine.remove([], of: key, $0) } as Void
      #expect(try bench.rows(.box(host: "b")).keys.sorted() == ["3", "4", "5"])
    }
  ]

  private static let connection = [
    FleetEngineCase("outcomes come in the order of the calls") { bench throws in
      let (place, engine) = (bench.place, bench.engine)
      var order: [Int] = []
      engine.run(FleetTake(place: place, host: "a", seen: FleetSight(), run: bench.run)) { _ in order.append(1) }
      engine.append(type(of: bench).fields(1), to: place.key(.up), at: nil) { _ in order.append(2) }
      engine.run(FleetBeat(place: place, own: FleetOwn(term: 1, host: "a"))) { _ in order.append(3) }
      engine.rows(of: place.key(.lease), nil) { _ in order.append(4) }
      engine.rows(of: place.key(.lease), []) { _ in order.append(5) }
      engine.run(FleetBeat(place: place, own: FleetOwn(term: 9, host: "a"))) { _ in order.append(6) }
      engine.newest(of: place.key(.up)) { _ in order.append(7) }
      #expect(order == [])
      #expect(try bench.goOn { order.count == 7 })
      #expect(order == Array(1...7))
    },
    FleetEngineCase("an engine that is given up answers everything, says so, and comes back") { bench throws in
      let listener = FleetEngineListener()
      bench.engine.add(listener)
      #expect(try bench.goOn { listener.words == [.gained(bench.run)] })
      bench.engine.readOn(bench.place.key(.events), after: .start, for: listener)
      #expect(try bench.goOn { listener.words.count == 2 })
      var heard: [String] = []
      for number in 1...3 {
        bench.engine.rows(of: bench.place.key(.lease), nil) {
          if case .unanswered = $0 { heard.append("\(number), \(listener.words.contains(.lost))") }
        }
      }
      bench.engine.distrust()
      #expect(try bench.goOn { listener.words.last == .gained(bench.run) })
      #expect(heard == ["1, false", "2, false", "3, false"])
      #expect(listener.words == [.gained(bench.run), .end("ev"), .lost, .gained(bench.run)])
      _ = try bench.append(1, at: FleetPosition(1, 1))
      // What was read on has to be asked for again.
      #expect(listener.records.isEmpty)
      bench.engine.readOn(bench.place.key(.events), after: .start, for: listener)
      #expect(try bench.goOn { listener.records.count == 1 })
    },
    FleetEngineCase("what another host writes is read") { bench throws in
      let listener = FleetEngineListener()
      bench.other.readOn(bench.place.key(.up), after: .start, for: listener)
      #expect(try bench.goOn { listener.words == [.end("up")] })
      for number in 1...10 as ClosedRange<UInt64> { _ = try bench.append(number, at: nil, to: .up) }
      #expect(try bench.goOn { listener.records.count == 10 })
      #expect(listener.records.map { $0.fields.number("n") } == (1...10).map { $0 })
    },
  ]
}
