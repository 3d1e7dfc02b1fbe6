import Glibc
import Testing

/// The files of one of the fuzzer's folders, by name; none if there is no such folder.
private func files(in folder: String, of target: FuzzTarget) throws -> [(name: String, bytes: [UInt8])] {
  let root = #filePath.split(separator: "/").dropLast(2).map { "/" + $0 }.joined()
  let path = "\(root)/Fuzz/\(folder)/\(target.rawValue)"
  guard let directory = opendir(path) else { return [] }
  defer { closedir(directory) }
  var files: [(name: String, bytes: [UInt8])] = []
  while let entry = readdir(directory) {
    let name = withUnsafePointer(to: &entry.pointee.d_name) {
      $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
    }
    if !name.hasPrefix(".") { files.append((name, try #require(contents(of: "\(path)/\(name)")))) }
  }
  return files
}

/// The bytes of a file; nil where there is none.
func contents(of path: String) -> [UInt8]? {
  guard let file = fopen(path, "rb") else { return nil }
  defer { fclose(file) }
  var bytes: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 65_536)
  while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer[..<count] }
  return bytes
}

@Suite struct FuzzReplayTests {
  @Test(arguments: FuzzTarget.allCases)
  func theSeedsOfTheFuzzerHold(_ target: FuzzTarget) throws {
    let seeds = try files(in: "corpus", of: target)
    #expect(!seeds.isEmpty)
    for seed in seeds { #expect(target.problem(with: seed.bytes) == nil, "\(seed.name)") }
  }

  @Test(arguments: FuzzTarget.allCases)
  func whatTheFuzzerOnceFoundStaysMended(_ target: FuzzTarget) throws {
    for finding in try files(in: "findings", of: target) {
      #expect(target.problem(with: finding.bytes) == nil, "\(finding.name)")
    }
  }
}
