/// One thing that a history's file says.
enum HistoryRecord: Equatable {
  /// Every segment begins with it.
  case header(HistoryHeader)
  /// An epoch begins, and its numbers behind `start`. A segment names the present one before anything else.
  case epoch(String, start: UInt64)
  /// The next event has the number behind this one; what is between is not kept.
  case position(UInt64)
  /// What the upstream needs to go on, and for which server and credentials that holds; nil: nothing.
  case resumption(Resumption?, target: UInt64)
  /// The tail of an event's notification, and when it arrived, in milliseconds since 1970.
  case event(arrival: Int64, tail: [UInt8])
  case hole(arrival: Int64, GapReason, name: String?)
  /// An orderly end: nothing that was given out is missing.
  case end
}

/// Whose history it is.
struct HistoryHeader: Equatable {
  /// The run of the machine in which the segment was made.
  var boot: String
  /// How long its events are to be kept, in milliseconds.
  var age: Int64
  var upstream: String
  /// As it may be shown.
  var namespace: String
  /// Everything that is kept of earlier segments is in it.
  var isComplete: Bool
}

/// The layout of a history's file: a mark with the version, then frames. A frame is the number of bytes of its content,
/// their check sum (both 32 bits, the least byte first), and the content: records one behind the other. What was handed
/// to the system in one piece is one frame, so that a crash leaves all of it or none.
enum HistoryFormat {
  static let mark: [UInt8] = Array("gwhist".utf8) + [0]
  static let version: UInt8 = 1
  /// The mark and the version.
  static let prefixLength = 8
  static let frameHeadLength = 8
  /// What stands before the tail of an event: its code, the arrival, the number of bytes.
  static let eventHeadLength = 13
  /// Beyond this many bytes a frame takes no further record.
  static let frameTarget = 1 << 20
  /// The largest number of an event: what JSON can carry.
  static let numberLimit: UInt64 = 1 << 53

  /// The bytes that begin records.
  enum Code {
    static let header: UInt8 = 1
    static let epoch: UInt8 = 2
    static let position: UInt8 = 3
    static let resumption: UInt8 = 4
    static let event: UInt8 = 5
    static let hole: UInt8 = 6
    static let end: UInt8 = 7
  }

  /// The bytes that stand for reasons of holes, from 0 on.
  static let reasons: [GapReason] = [.tooLarge, .undecodable, .upstream, .slowConsumer, .expired]
}
