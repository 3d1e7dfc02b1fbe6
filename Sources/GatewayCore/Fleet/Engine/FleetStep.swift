/// A change that needs to know whose turn it is: all of it happens, or nothing. Each begins by comparing the caller's own
/// with what the engine has, and is fenced where they differ.
protocol FleetStep: Equatable, Sendable {
  associatedtype Result: Equatable, Sendable
  static var name: FleetStepName { get }
  /// What it reads and changes, in the order of `FleetStepName`'s table.
  var keys: [FleetKey] { get }
  /// What it is told, in the order of that table.
  var arguments: [[UInt8]] { get }
  /// What the engine's reply means; nil for one that makes no sense.
  static func result(_ reply: FleetReply) -> Result?
}

/// The thirteen steps. `own` is `TERM@HOST` as in the lease, `life` a host's; where they are not what the engine has the step
/// is fenced. A number is written in decimal digits, a mark as `1` or nothing. Fields of a marker are those of
/// `FleetMarker`.
///
/// | step | keys | arguments | does | replies |
/// |---|---|---|---|---|
/// | `take` | L ev | host, own, beat, run, c, seq, term, late, since | refused unless `own` and `beat` are what the caller saw, and `next` is nothing, `*` or the host, or the caller is late | null, or term, c, seq, epoch, offset, session, 1 if `run` is the same |
/// | `beat` | L up | own, v, config, seq, and hosts, may, prefer or nothing, why or nothing, run | raises `beat`, sets the others | beat, next, last position of `up` or nothing where that cannot be read |
/// | `move` | L | own, next, mark of a question | sets `next`; of a question sets `ask` to it and raises `asks`, and hosts that it names, with `*` all others, say that they live | 1, or `asks` |
/// | `release` | L | own | empties `holder` | 1 |
/// | `open` | L ev up | own, run, epoch, seq, offset, session, hosts | next `c`, `open` = 1, no `why`, marker | c, last position of `up` |
/// | `down` | L ev | own, epoch, seq, offset, reason, detail, settled `c` | next `c`, `open` = 0, marker | c |
/// | `done` | L re box box:@ | own, position or nothing, packed fields, host, then name and row of each outcome | rows that are in the box become their outcomes, and so do those that were adopted from there, which are in the box again then; the reply is added, unless its place is taken | 1, or 0 where that is |
/// | `adopt` | L box box:@ hosts | own, host, life, beat | refused unless `life` and `beat` are what the caller saw; the rows that wait move as `HOST/NAME`, the life is raised, the beat `-` until the host joins again | null, or life, rows |
/// | `join` | hosts box | host, life, details | the next life behind this and the one that is there, beat 0 | life, then the name of each row |
/// | `alive` | hosts | host, life, details | raises the host's beat | beat |
/// | `put` | hosts box | host, life, name, row | sets the row | 1 |
/// | `find` | hosts box | host, life, names | nothing | of each name: null, `+` for a send that waits, `-` for one that no host may write, or the row that says what became of it |
/// | `forget` | hosts L box re box:@ | host, mark that it is no trial | refused while the host is the `holder`, has a row whose beat is not `-`, or has sends without an outcome in `box:@` or in `box`; then, unless it is a trial, its rows in `hosts` and `box` and the entries of `re` are removed | `holds`, `lives`, `waits`, `left`, `unknown` where there is nothing of it, or `forgotten`, then how many sends |
///
/// `take` in full: `term` becomes one more than the larger of the lease's and the argument's; `c` one more than the largest
/// of the lease's, the stream's last and the argument's; `seq` is the last event's or, of a marker, its `s`; where the
/// stream is empty and the argument is above 0, the argument + 2^20. `own`, `holder`, `term`, `c`, `run`, `since` are set,
/// and `at`, which is `run` and is set by each `beat` as well, `next` is removed, `beat` = 0, `open` = 0, and a marker says
/// so at `c-0`. `offset` is that of the last entry that has one, marker or event, as far as the last entry says it.
///
/// The next `c` of `open` and `down` is one more than the larger of the lease's and the stream's last: after a failover the
/// lease may be older than what its holder has written again.
///
/// A row of `hosts` is `LIFE:BEAT:DETAILS`.
enum FleetStepName: String, CaseIterable, Sendable {
  case take, beat, move, release, open, down, done, adopt, join, alive, put, find, forget

  /// Whether it counts only when as many copies have it as the fleet wants. What is fenced or refused counts at once.
  var mustLast: Bool {
    switch self {
    case .take, .beat, .move, .open, .adopt, .join, .alive, .put: true
    case .release, .down, .done, .find, .forget: false
    }
  }

  /// Whether whoever gives it is told that it was refused, and the host goes on as before.
  var isOrder: Bool { self == .move || self == .forget }

  /// Whether it replies with a list that is as long as a box: the length is not known beforehand.
  var repliesWithList: Bool { self == .join || self == .find }
}

/// A term of holding: which it is, and whose.
struct FleetOwn: Hashable, Sendable {
  var term: UInt64
  var host: String

  /// As the lease has it.
  var text: String { "\(term)@\(host)" }

  init(term: UInt64, host: String) {
    self.term = term
    self.host = host
  }

  init?(_ text: String) {
    guard let at = text.firstIndex(of: "@"), let term = UInt64(text[..<at]) else { return nil }
    self.init(term: term, host: String(text[text.index(after: at)...]))
  }
}

extension FleetStep {
  static func text(_ reply: FleetReply) -> String? {
    switch reply {
    case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
    case .integer(let number): String(number)
    case .null, .array: nil
    }
  }

  static func number(_ reply: FleetReply) -> UInt64? {
    text(reply).flatMap { UInt64($0) }.flatMap { $0 <= FleetPosition.highest ? $0 : nil }
  }
}

extension [[UInt8]] {
  init(texts: String...) { self = texts.map { Array<UInt8>($0.utf8) } }
}
