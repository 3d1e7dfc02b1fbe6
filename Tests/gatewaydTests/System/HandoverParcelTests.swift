import Glibc
import Testing

@testable import GatewayCore
@testable import gatewayd

@Suite struct HandoverParcelTests {
  /// The parcel as the next daemon is passed it: other descriptors of the same things.
  private static func passed(_ parcel: HandoverParcel) -> [PassedSocket] {
    parcel.contents.map { PassedSocket(descriptor: dup($0.descriptor), name: $0.name, isUnixListener: false) }
  }

  @Test(arguments: [0, 1, 250, 600]) func socketsAndDocumentArriveInOrder(_ count: Int) throws {
    let parcel = try HandoverParcel()
    let header = HandoverDocument.Entry.header(HandoverDocument.Header(handovers: 1, lastToken: 0))
    try parcel.write(HandoverDocument.line(header))
    let files = (0..<count).map(file(of:))
    try parcel.send(files.enumerated().map { HandoverParcel.Socket(descriptor: $1, isWithinLine: $0 % 3 == 1) })
    files.forEach { close($0) }
    let next = try #require(HandoverParcel(among: Self.passed(parcel)))
    let (sockets, lost) = next.takeSockets()
    defer { sockets.forEach { close($0.descriptor) } }
    #expect(sockets.map { size(of: $0.descriptor) } == Array(0..<count) && lost == 0)
    #expect(sockets.map(\.isWithinLine) == (0..<count).map { $0 % 3 == 1 })
    #expect(next.takeSockets().sockets.isEmpty)
    var found: [HandoverDocument.Entry] = []
    try next.read { found.append($0) }
    #expect(found == [header])
  }

  @Test func anIncompleteParcelIsNone() throws {
    let parcel = try HandoverParcel()
    var passed = Self.passed(parcel)
    let left = passed.removeLast()
    close(left.descriptor)
    #expect(HandoverParcel(among: passed) == nil)
    #expect(HandoverParcel(among: []) == nil)
  }

  /// A file that says which one it is by its size.
  private func file(of number: Int) -> Int32 {
    var path = Array("/tmp/gatewayd-parcel-XXXXXX".utf8CString)
    let file = mkstemp(&path)
    unlink(path)
    ftruncate(file, number)
    return file
  }

  private func size(of file: Int32) -> Int {
    var facts = stat()
    return fstat(file, &facts) == 0 ? Int(facts.st_size) : -1
  }
}
