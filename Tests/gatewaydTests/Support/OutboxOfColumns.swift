@testable import GatewayCore

@testable import gatewayd

/// Files of the outbox as earlier versions left them, with a column for each member.
enum OutboxOfColumns {
  private static let table = """
    CREATE TABLE outbox (number INTEGER PRIMARY KEY, id TEXT NOT NULL, owner INTEGER NOT NULL, upstream TEXT, url TEXT,
    namespace TEXT NOT NULL, event TEXT NOT NULL, body BLOB, attachments BLOB, delivery TEXT NOT NULL, retries INTEGER,
    ack_timeout INTEGER, coalesce TEXT, key TEXT, fingerprint INTEGER NOT NULL, created INTEGER NOT NULL,
    expires INTEGER, attempts INTEGER NOT NULL, state TEXT NOT NULL, reason TEXT, ended INTEGER, result BLOB,
    compress INTEGER NOT NULL, checksum INTEGER NOT NULL, gids BLOB, options BLOB)
    """

  /// Makes a file of layout 4 with entries that have no groups and no attachments, for a configured upstream.
  static func make(_ path: String, _ entries: [OutboxEntry], offset: Int64 = 0) throws {
    let database = try SQLiteDatabase(path: path)
    try database.run(
      """
      PRAGMA journal_mode=WAL; BEGIN; PRAGMA application_id=1735880546; PRAGMA user_version=4; \(table);
      \(OutboxClock.making(offset)); COMMIT
      """)
    let insert = try database.prepare(
      "INSERT INTO outbox VALUES (\(Array(repeating: "?", count: 26).joined(separator: ",")))")
    for entry in entries {
      bind(entry, to: insert)
      _ = try insert.step()
    }
  }

  private static func bind(_ entry: OutboxEntry, to statement: SQLiteDatabase.Statement) {
    var checksum = Checksum()
    func integer(_ place: Int32, _ value: Int64?) {
      checksum.add(value)
      statement.bind(place, value)
    }
    func bytes(_ place: Int32, _ value: [UInt8]?, isText: Bool) {
      guard let value else {
        checksum.add(nil as UnsafeRawBufferPointer?)
        return statement.bind(place, nil)
      }
      value.withUnsafeBytes {
        checksum.add($0)
        if isText { statement.bind(place, text: $0) } else { statement.bind(place, blob: $0) }
      }
    }
    func text(_ place: Int32, _ value: String?) { bytes(place, value.map { Array($0.utf8) }, isText: true) }
    func blob(_ place: Int32, _ value: [UInt8]?) { bytes(place, value, isText: false) }
    integer(1, Int64(bitPattern: entry.number))
    text(2, entry.id)
    integer(3, Int64(entry.owner))
    text(4, entry.target.upstream)
    text(5, nil)
    text(6, entry.target.namespace)
    text(7, entry.message.event)
    blob(8, entry.message.body.isEmpty ? nil : entry.message.body)
    blob(9, nil)
    text(10, entry.delivery.rawValue)
    integer(11, entry.retries.map(Int64.init))
    integer(12, entry.ackTimeout)
    text(13, entry.coalesce)
    text(14, entry.key)
    integer(15, Int64(bitPattern: entry.fingerprint))
    integer(16, entry.created)
    integer(17, entry.expires)
    integer(18, Int64(entry.attempts))
    text(19, entry.state.rawValue)
    text(20, entry.reason)
    integer(21, entry.ended)
    blob(22, entry.result)
    integer(23, entry.message.compress ? 1 : 0)
    statement.bind(24, checksum.value)
    statement.bind(25, nil)
    statement.bind(26, nil)
  }

  /// What a daemon of version 1.1.0 left of four sends: one that waits, one with all options, one that was cancelled, and one
  /// to a URL with options and an attachment.
  static func makeFileOf110(_ path: String) throws {
    let database = try SQLiteDatabase(path: path)
    try database.run(
      """
      PRAGMA journal_mode=WAL; BEGIN; PRAGMA application_id=1735880546; PRAGMA user_version=4; \(table);
      CREATE TABLE clock (number INTEGER PRIMARY KEY, offset INTEGER NOT NULL, checksum INTEGER NOT NULL);
      INSERT INTO clock VALUES(0,0,7530956916606170186);
      INSERT INTO outbox VALUES(1,'156e2cff-e26e-1',0,'chat',NULL,'/','news',
        X'5B226E657773222C7B2261223A312E302C2262223A22C3A9227D2C375D',NULL,'durable',NULL,NULL,NULL,NULL,0,1795692678102,
        1796297478101,0,'queued',NULL,NULL,NULL,1,6660850034590935825,X'00000000',NULL);
      INSERT INTO outbox VALUES(2,'156e2cff-e26e-2',0,'chat',NULL,'/room','keyed',X'5B226B65796564222C2278225D',NULL,
        'durable',3,2000,'c1','k1',-8093472534061594100,1795692678109,1795696278108,0,'queued',NULL,NULL,NULL,0,
        7038897090128780807,X'00000000',NULL);
      INSERT INTO outbox VALUES(3,'156e2cff-e26e-3',0,'chat',NULL,'/','gone',X'5B22676F6E65222C315D',NULL,'durable',NULL,
        NULL,NULL,NULL,0,1795692678150,1796297478149,0,'cancelled',NULL,1795692678662,NULL,1,1496444829427815495,
        X'00000000',NULL);
      INSERT INTO outbox VALUES(4,'156e2cff-e26e-4',0,NULL,'https://127.0.0.1:9/n','/n','parts',
        X'5B227061727473222C7B225F706C616365686F6C646572223A747275652C226E756D223A307D5D',X'0300000000FF07','durable',NULL,
        NULL,NULL,NULL,0,1795692694084,1796297494083,0,'queued',NULL,NULL,NULL,1,-2787680925957272676,X'00000000',
        X'7B2270617468223A222F636861742F222C22746C73223A7B22766572696679223A66616C73657D7D');
      COMMIT
      """)
  }
}
