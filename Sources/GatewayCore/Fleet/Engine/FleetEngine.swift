/// What a fleet's hosts have between them: streams that are read on, tables, and steps that happen at once or not at all.
/// A wire with a memory, not the truth: whoever writes keeps what the other end has not confirmed. In the daemon it is
/// Redis, one engine for all upstreams of a fleet.
///
/// While it is reached, calls are carried out in their order, and each `done` is called exactly once, later, in that order
/// too. While it is not reached nothing may be asked of it: `done` hears `unanswered`, later. It looks for its server by
/// itself, again and again, and has limits of its own for how long a call may take.
protocol FleetEngine: AnyObject {
  /// Whether it is reached: between `engineGained` and `engineLost`.
  var server: FleetServer? { get }
  /// Why it is not reached, or was not the last time; nil while it is, and before it has tried.
  var failure: UpstreamFailure? { get }
  /// Why every server was tried in vain since one was reached last; nil while one is, and before that is known.
  var vainFailure: UpstreamFailure? { get }
  /// How long its server takes for an answer; nil where that is not known.
  var roundTrip: Duration? { get }
  /// What it refused of an upstream lately, and has not carried out since; nil for nothing.
  func refusal(of place: FleetPlace) -> UpstreamFailure?
  /// The engine for what is done with one upstream alone: this one, where all upstreams are kept in one place.
  func share(of place: FleetPlace) -> any FleetEngine
  /// Told what people should know of it.
  var onReport: (FleetReport) -> Void { get set }

  /// The receiver hears from now on what becomes of the engine, never before this method has returned; of an engine that
  /// is reached already it hears `engineGained`.
  func add(_ receiver: any FleetEngineReceiver)
  /// It hears nothing more, and what it reads on is not read on.
  func remove(_ receiver: any FleetEngineReceiver)

  /// Adds an entry to a stream. With a position the stream refuses one at or below its last, which is `fenced`: it is
  /// there already, or its writer's time is over. Without one the engine gives it the next.
  func append(
    _ fields: FleetFields, to key: FleetKey, at position: FleetPosition?,
    _ done: @escaping (FleetOutcome<FleetPosition>) -> Void)
  /// Forgets entries of a stream before a position, or about these.
  func trim(_ key: FleetKey, before position: FleetPosition)
  /// The last entry of a stream, if it has any.
  func newest(of key: FleetKey, _ done: @escaping (FleetOutcome<FleetRecord?>) -> Void)

  /// Reads a stream from behind a position on, until the engine is lost or the receiver removed; then it has to be asked
  /// for again. Where it is read on already it goes on from there instead, and nothing is told of before. A stream that was
  /// asked for earlier is never behind a later one: when an entry of the later one is told, all that was in the earlier one
  /// when that entry was added has been told.
  func readOn(_ key: FleetKey, after position: FleetPosition, for receiver: any FleetEngineReceiver)
  /// So many hosts read on what an upstream's fleet says: where they are many, what comes in quick succession is read
  /// together, so that they leave the server time for other things.
  func note(hosts: Int, of place: FleetPlace)
  /// A stream is not read on any more; the receiver hears nothing of it.
  func readNoMore(_ key: FleetKey, for receiver: any FleetEngineReceiver)

  /// The names of all rows of a table, as they were at one moment.
  func names(of key: FleetKey, _ done: @escaping (FleetOutcome<FleetNames>) -> Void)
  /// How many bytes rows of a table have, in the order of the names; 0 for one that is not there.
  func sizes(of key: FleetKey, _ names: [String], _ done: @escaping (FleetOutcome<[Int]>) -> Void)
  /// Some rows of a table, or with nil all of them; those that are not there are left out.
  func rows(of key: FleetKey, _ names: [String]?, _ done: @escaping (FleetOutcome<[String: [UInt8]]>) -> Void)
  /// Removes rows of a table.
  func remove(_ names: [String], of key: FleetKey, _ done: @escaping (FleetOutcome<Void>) -> Void)

  /// Carries out a step at once.
  func run<Step: FleetStep>(_ step: Step, _ done: @escaping (FleetOutcome<Step.Result>) -> Void)

  /// The caller has reason to think that the server is not reached, or is the wrong one: it is lost, and looked for anew.
  func distrust()
}

extension FleetEngine {
  func share(of place: FleetPlace) -> any FleetEngine { self }
}

/// Told what becomes of an engine. `engineGained` and `engineLost` take turns.
protocol FleetEngineReceiver: AnyObject {
  /// It is reached, and may be asked. Nothing is read on yet.
  func engineGained(_ server: FleetServer)
  /// It is not reached any more. Everything that was asked of it before has been answered, the last with `unanswered`.
  func engineLost(_ failure: UpstreamFailure)
  /// It is still not reached, for another reason than before.
  func engineMissed()
  /// Entries of a stream that is read on, in order.
  func engineRead(_ records: [FleetRecord], of key: FleetKey)
  /// All that was in a stream when it was asked for has been read; what follows is new. Once for each `readOn`, and once
  /// more when what was refused can be read again.
  func engineReachedEnd(of key: FleetKey)
  /// A stream that is read on cannot be read; `refusal(of:)` says why. The engine tries again by itself.
  func engineRefusedReading(of key: FleetKey)
  /// Something of an upstream was refused, for a reason that lasts until somebody sees to it.
  func engineRefused(_ failure: UpstreamFailure, of place: FleetPlace)
}

extension FleetEngineReceiver {
  func engineMissed() {}
  func engineRefusedReading(of key: FleetKey) {}
  func engineRefused(_ failure: UpstreamFailure, of place: FleetPlace) {}
}

/// What becomes of an engine and of the links that hosts share by it, for the log.
public enum FleetReport: Equatable, Sendable {
  /// It is reached, at this address.
  case reached(server: String, version: String)
  /// Its server may forget what has to be kept, for a reason in a sentence.
  case endangered(String)
  /// It is not reached, or not any more.
  case missed(DownReason, detail: String)
  /// It refuses what an upstream needs.
  case refused(upstream: String, detail: String)
  /// It has done what it refused.
  case accepted(upstream: String)
  /// Rows of the fleet were removed that are no sends: nobody can write them.
  case removed(upstream: String, namespace: String, rows: Int)
  /// Durable sends of this host are there, and it can neither keep nor write them, for a reason in a sentence.
  case unkept(upstream: String, namespace: String, detail: String)
  /// This host has the link of an upstream from now on; nil: no host had it before.
  case took(upstream: String, namespace: String, term: UInt64, conversation: UInt64, from: String?)
  /// This host has it no more, for a reason in a clause.
  case gaveUp(upstream: String, namespace: String, term: UInt64, why: String)
  /// This host was told to leave, and has: others have the links that it had to these upstreams, and it takes none.
  case left([String])
  /// It had left, and takes links again.
  case returned
}

/// The server that an engine has reached.
struct FleetServer: Equatable, Sendable {
  /// Which process it is: another one may have forgotten something.
  var run: String
  /// Host and port, for people.
  var address: String
  /// As it says it itself.
  var version: String
  /// Why it may forget what has to be kept, in a sentence.
  var danger: String?

  init(run: String, address: String = "", version: String = "", danger: String? = nil) {
    self.run = run
    self.address = address
    self.version = version
    self.danger = danger
  }
}

/// What became of a call.
enum FleetOutcome<Value> {
  case done(Value)
  /// Another has taken the caller's place: its term, its life or its position is over. Nothing was done.
  case fenced
  /// The engine declined. Nothing was done.
  case refused(FleetRefusal)
  /// The engine was lost: it may have been done, or be done yet. What is to be asked again is asked on the next connection.
  case unanswered
  /// It was done, and not as many copies as are wanted have confirmed it in time: it may be undone. The engine is reached as
  /// before, so that nothing else tells when to ask again.
  case uncopied
}

extension FleetOutcome {
  /// The same of a call with another value; nil for one that was done.
  func failure<Other>() -> FleetOutcome<Other>? {
    switch self {
    case .done: nil
    case .fenced: .fenced
    case .refused(let refusal): .refused(refusal)
    case .unanswered: .unanswered
    case .uncopied: .uncopied
    }
  }

  /// What became of the call, whatever its value.
  var withoutValue: FleetOutcome<Void> { failure() ?? .done(()) }
}

extension FleetOutcome: Equatable where Value: Equatable {}
extension FleetOutcome: Sendable where Value: Sendable {}

/// Why an engine declined a call. What means that it is the wrong server ends the connection to it instead.
enum FleetRefusal: Equatable, Sendable {
  /// There is no room.
  case full
  /// The user may not do that. The sentence is the engine's.
  case forbidden(String)
  /// Anything else, such as an answer that was not understood.
  case other(String)
}

extension FleetRefusal {
  /// After it the engine is asked again, also for what it has not confirmed in time.
  static let pause: Duration = .seconds(1)

  /// The same in a word for programs.
  var reason: DownReason {
    switch self {
    case .full: .tooLarge
    case .forbidden: .refused
    case .other: .protocolError
    }
  }

  /// What is wrong and what to do, in a sentence about the server of that address.
  func sentence(of server: String) -> String {
    switch self {
    case .full: "\(server) has no room: raise its `maxmemory`, or take from it what else is there"
    case .forbidden(let words):
      "\(server) does not let this user do what each host has to do (\(words)): give it the rights"
    case .other(let words): "\(server) declined what each host has to do (\(words))"
    }
  }
}

/// What a step answers, in the types that scripts have.
enum FleetReply: Equatable, Sendable {
  case null
  case integer(Int64)
  case bytes([UInt8])
  case array([FleetReply])
}
