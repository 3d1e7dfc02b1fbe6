import GatewayCore

/// What the core reports, as log records.
enum FactLog {
  /// Clients that come and go are frequent and hardly ever logged: below `debug` nothing is made of them.
  static func records(for fact: GatewayFact, at level: LogLevel) -> [LogRecord] {
    switch fact {
    case .clientAttached(let client): level < .debug ? [] : [record(.clientAttached, client)]
    case .clientDetached(let client): level < .debug ? [] : [record(.clientDetached, client)]
    case .clientDropped(let client, let reason): [record(.clientDropped, client, [.reason: reason])]
    case .quotaExceeded(let uid, let quota): [LogRecord(.quotaExceeded, [.uid: String(uid), .quota: quota])]
    case .connectionMoved(let connection, let from, let to): [moved(connection, from, to)]
    case .connectionReleased(let connection): [record(.connectionReleased, connection)]
    case .sendFailed(let connection, let send, let outcome):
      [
        record(
          .sendFailed, connection,
          [
            .command: send.command, .outcome: outcome, .event: send.event, .uid: String(send.uid),
            .reason: connection.reason?.rawValue,
          ])
      ]
    case .interestRefused(let connection, let interest, let detail):
      [record(.interestRefused, connection, [.interest: interest, .detail: detail])]
    case .reloaded(let change): reloaded(change)
    case .reloadRefused(let problems): problems.map(refused)
    case .reloadIgnored: [LogRecord(.reloadIgnored)]
    case .stopping(let reason): [LogRecord(.stopping, [.reason: reason])]
    case .sendsKept(let count): [LogRecord(.sendsKept, [.sends: String(count)])]
    case .outbox(let problem?):
      [LogRecord(.outboxFailing, [.reason: problem.kind.rawValue, .detail: problem.message])]
    case .outbox(nil): [LogRecord(.outboxWorking)]
    case .outboxWarning(let problem?):
      [LogRecord(.outboxUntidy, [.reason: problem.kind.rawValue, .detail: problem.message])]
    case .outboxWarning(nil): [LogRecord(.outboxTidy)]
    case .history(let upstream, let namespace, let report): [record(report, upstream, namespace)]
    case .fleetNameTaken(let name, let renamed):
      [
        LogRecord(
          .fleetNameTaken,
          [
            .detail:
              "another daemon of the fleet is called \(name) as well; this one is called \(renamed) until that one is gone, or this one is reloaded"
          ])
      ]
    case .fleetNameRegained(let name):
      [LogRecord(.fleetNameRegained, [.detail: "this host is called \(name) again"])]
    case .fleetLeaveOrdered(let client): [record(.fleetLeaveOrdered, client)]
    case .fleetLeaveFailed(let client, let upstream, let detail):
      [record(.fleetLeaveFailed, client, [.upstream: upstream, .detail: detail])]
    case .fleet(let report): [record(report)]
    case .internalError(let text): [LogRecord(.internalError, [.detail: text])]
    }
  }

  /// Something about the configuration that is worth mentioning and no mistake.
  static func record(warning: ConfigurationProblem) -> LogRecord {
    LogRecord(.configurationWarning, [.file: warning.file, .line: String(warning.line), .detail: warning.message])
  }

  private static func record(_ report: HistoryReport, _ upstream: String, _ namespace: String) -> LogRecord {
    switch report {
    case .working: LogRecord(.historyWorking, [.upstream: upstream, .namespace: namespace])
    case .failing(let problem):
      LogRecord(
        .historyFailing,
        [.upstream: upstream, .namespace: namespace, .reason: problem.kind.rawValue, .detail: problem.message])
    case .setAside(let path, let detail):
      LogRecord(
        .historySetAside, [.upstream: upstream, .namespace: namespace, .path: path, .detail: detail])
    }
  }

  private static func record(_ report: FleetReport) -> LogRecord {
    switch report {
    case .reached(let server, let version): LogRecord(.fleetReached, [.version: version, .url: server])
    case .endangered(let detail): LogRecord(.fleetEndangered, [.detail: detail])
    case .missed(let reason, let detail): LogRecord(.fleetMissed, [.reason: reason.rawValue, .detail: detail])
    case .refused(let upstream, let detail): LogRecord(.fleetRefused, [.upstream: upstream, .detail: detail])
    case .accepted(let upstream): LogRecord(.fleetAccepted, [.upstream: upstream])
    case .removed(let upstream, let namespace, let rows):
      LogRecord(.fleetRemoved, [.upstream: upstream, .namespace: namespace, .sends: String(rows)])
    case .unkept(let upstream, let namespace, let detail):
      LogRecord(.fleetUnkept, [.upstream: upstream, .namespace: namespace, .detail: detail])
    case .took(let upstream, let namespace, let term, let conversation, let host):
      LogRecord(
        .fleetTook,
        [
          .upstream: upstream, .namespace: namespace, .term: String(term), .conversation: String(conversation),
          .from: host,
        ])
    case .gaveUp(let upstream, let namespace, let term, let why):
      LogRecord(
        .fleetGaveUp, [.upstream: upstream, .namespace: namespace, .term: String(term), .detail: why])
    case .left(let upstreams):
      LogRecord(.fleetLeft, [.links: upstreams.isEmpty ? "none" : upstreams.joined(separator: ",")])
    case .returned: LogRecord(.fleetReturned)
    }
  }

  private static func moved(_ connection: ConnectionFact, _ from: ConnectionState, _ to: ConnectionState) -> LogRecord {
    switch to {
    case .connected: return record(.connectionUp, connection)
    case .disconnected:
      let isWanted =
        connection.reason == .idle || connection.reason == .requested || connection.reason == .draining
        || connection.isGivenAway
      return LogRecord(
        .connectionDown, level: isWanted ? .info : nil,
        [
          .upstream: connection.upstream, .url: connection.url, .namespace: connection.namespace,
          .connection: connection.connection, .from: from.rawValue, .reason: connection.reason?.rawValue,
          .detail: connection.detail, .attempt: String(connection.attempt),
          .retryIn: connection.retryIn.map { String($0) },
        ])
    case .created, .reconnecting: return record(.connectionAttempt, connection)
    case .released: return record(.connectionReleased, connection)
    }
  }

  private static func record(
    _ kind: LogKind, _ connection: ConnectionFact, _ more: KeyValuePairs<LogField, String?> = [:]
  ) -> LogRecord {
    var record = LogRecord(
      kind,
      [
        .upstream: connection.upstream, .url: connection.url, .namespace: connection.namespace,
        .connection: connection.connection,
      ])
    record.facts += LogRecord(kind, more).facts
    return record
  }

  private static func record(
    _ kind: LogKind, _ client: ClientFact, _ more: KeyValuePairs<LogField, String?> = [:]
  ) -> LogRecord {
    var record = LogRecord(
      kind, [.client: client.client, .name: client.name, .uid: String(client.uid), .pid: String(client.pid)])
    record.facts += LogRecord(kind, more).facts
    return record
  }

  private static func reloaded(_ change: ConfigurationChange) -> [LogRecord] {
    let (changed, waiting) = (change.names, change.needsRestart)
    let done = LogRecord(
      .configurationReloaded, [.changed: changed.isEmpty ? "nothing" : changed.joined(separator: ",")])
    return waiting.isEmpty ? [done] : [done, LogRecord(.restartNeeded, [.restart: waiting.joined(separator: ",")])]
  }

  private static func refused(_ problem: ConfigurationProblem) -> LogRecord {
    LogRecord(
      .configurationRefused, [.file: problem.file, .line: String(problem.line), .detail: problem.message])
  }
}
