import CSystemdJournal
import GatewayCore
import Glibc

/// Writes log records to the systemd journal with all their facts as fields (systemd.journal-fields(7)).
enum Journal {
  /// Whether descriptor 2 is the journal itself, which is what `$JOURNAL_STREAM` (device:inode) tells. Otherwise
  /// the user redirected the output and wants to see it there.
  static func isConnected(environment: (String) -> String?, descriptor: Int32 = STDERR_FILENO) -> Bool {
    guard let stream = environment("JOURNAL_STREAM"), let file = try? FileIdentity(of: descriptor) else { return false }
    return stream == "\(file.device):\(file.inode)"
  }

  /// Writes one record; where the journal does not take it, it is lost.
  static func write(_ record: LogRecord) {
    let fields = fields(of: record).map { Array($0.utf8) }
    var vectors: [iovec] = []
    // One flat buffer, so that every pointer stays valid during the call.
    var bytes = fields.flatMap { $0 }
    bytes.withUnsafeMutableBytes { buffer in
      var offset = 0
      for field in fields {
        vectors.append(iovec(iov_base: buffer.baseAddress.map { $0 + offset }, iov_len: field.count))
        offset += field.count
      }
      // A journal that is full or gone is no reason to stop.
      _ = sd_journal_sendv(vectors, Int32(vectors.count))
    }
  }

  /// `NAME=value` for each field of a record.
  static func fields(of record: LogRecord) -> [String] {
    [
      "MESSAGE=\(record.text)", "PRIORITY=\(priority(record.level))", "MESSAGE_ID=\(record.kind.identifier)",
      "SYSLOG_IDENTIFIER=gatewayd",
    ] + record.facts.map { "\($0.field.journalName)=\($0.value)" }
  }

  /// The syslog priority of a level.
  private static func priority(_ level: LogLevel) -> Int {
    switch level {
    case .error: 3
    case .warning: 4
    case .notice: 5
    case .info: 6
    case .debug: 7
    }
  }
}
