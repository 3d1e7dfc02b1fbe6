import CLinux
import GatewayCore
import Glibc

/// What one daemon leaves in the service manager's fd store for the next one: a document in memory, and a pair of sockets
/// in which those of the clients are on their way. So the store holds three descriptors, however many clients there are,
/// and closes all of them if there is no next daemon. Decision 0115.
final class HandoverParcel {
  /// What it is made of, by the names of the descriptors in the store.
  enum Part: String, CaseIterable {
    /// Where the sockets of clients are sent into.
    case entrance = "handover-in"
    /// Where the next daemon takes them out.
    case exit = "handover-out"
    /// The document.
    case state = "handover-state"
  }

  /// All of them.
  static let names = Part.allCases.map(\.rawValue)

  /// A client's socket on its way.
  struct Socket: Equatable {
    let descriptor: Int32
    /// What was written last is the beginning of a line, and the rest is in the document.
    let isWithinLine: Bool

    fileprivate var mark: CChar { isWithinLine ? 1 : 0 }
  }

  /// Descriptors in one message; the kernel takes 253.
  private static let portion = 250
  /// Bytes of the document that are read in one go.
  private static let pieceLimit = 1 << 20

  private let descriptors: [Part: Int32]

  /// A fresh one.
  init() throws(SystemError) {
    var (entrance, exit): (Int32, Int32) = (-1, -1)
    guard gw_socket_pair(&entrance, &exit) == 0 else { throw SystemError("make a pair of sockets for a hand-over") }
    let state = gw_memory_file("gatewayd-handover")
    guard state >= 0 else {
      let error = SystemError("make a file in memory for a hand-over")
      close(entrance)
      close(exit)
      throw error
    }
    descriptors = [.entrance: entrance, .exit: exit, .state: state]
  }

  /// The one that an earlier daemon left among what the service manager has passed; nil where there is none. What there
  /// is of an incomplete one is closed.
  init?(among passed: [PassedSocket]) {
    var found: [Part: Int32] = [:]
    for one in passed {
      guard let part = Part(rawValue: one.name) else { continue }
      if let older = found.updateValue(one.descriptor, forKey: part) { close(older) }
    }
    guard found.count == Part.allCases.count else {
      found.values.forEach { close($0) }
      return nil
    }
    descriptors = found
  }

  deinit { descriptors.values.forEach { close($0) } }

  private subscript(part: Part) -> Int32 { descriptors[part] ?? -1 }

  /// The descriptors for the store, with their names.
  var contents: [(name: String, descriptor: Int32)] { Part.allCases.map { ($0.rawValue, self[$0]) } }

  // MARK: - The sender

  /// Adds a line to the document.
  func write(_ line: [UInt8]) throws(SystemError) {
    var rest = line[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(self[.state], $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw SystemError("write what is handed over") }
      rest = rest.dropFirst(count)
    }
  }

  /// Adds the sockets of clients. They stay open here as well.
  func send(_ sockets: [Socket]) throws(SystemError) {
    var rest = sockets[...]
    while !rest.isEmpty {
      let some = rest.prefix(Self.portion)
      let (descriptors, marks) = (some.map(\.descriptor), some.map(\.mark))
      guard gw_send_descriptors(self[.entrance], descriptors, marks, Int32(some.count)) == 0 else {
        throw SystemError("hand clients over")
      }
      rest = rest.dropFirst(some.count)
    }
  }

  // MARK: - The receiver

  /// Takes all sockets out: close-on-exec and non-blocking. `lost`: those that the kernel closed because this process
  /// may not have so many.
  func takeSockets() -> (sockets: [Socket], lost: Int) {
    var sockets: [Socket] = []
    var lost = 0
    while true {
      var some = [Int32](repeating: -1, count: Self.portion)
      var marks = [CChar](repeating: 0, count: Self.portion)
      var sent: Int32 = 0
      let count = gw_receive_descriptors(self[.exit], &some, &marks, Int32(Self.portion), &sent)
      guard sent > 0 else { return (sockets, lost) }
      sockets += zip(some, marks).prefix(Int(count)).map { Socket(descriptor: $0, isWithinLine: $1 != 0) }
      lost += Int(sent - count)
    }
  }

  /// Reads the document, entry by entry.
  func read(_ entry: (HandoverDocument.Entry) -> Void) throws(HandoverReader.Problem) {
    var reader = HandoverReader()
    var offset = 0
    while true {
      let piece = piece(at: offset)
      guard !piece.isEmpty else { return try reader.finish() }
      offset += piece.count
      reader.append(piece.span.bytes, entry)
    }
  }

  private func piece(at offset: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: Self.pieceLimit) { buffer, count in
      var got: Int
      repeat { got = pread(self[.state], buffer.baseAddress, buffer.count, offset) } while got < 0 && errno == EINTR
      count = max(0, got)
    }
  }
}
