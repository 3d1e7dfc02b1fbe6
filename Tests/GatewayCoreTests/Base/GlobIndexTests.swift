import Testing

@testable import GatewayCore

@Suite struct GlobIndexTests {
  private static let globs = [
    "*", "?", "a*", "ab?", "chat.*", "chat.room1?", "chat.room*", #"\*x*"#, #"ch\at*"#, "é*", "", "chat.roo", "*end",
    "c*t",
  ]
  private static let names = [
    "", "a", "ab", "abc", "chat.", "chat.room1", "chat.room12", "chat.roo", "*x", "chat", "é", "éa", "the end", "cat",
    "ct",
  ]

  @Test func whateverFitsIsFoundAndNothingElse() {
    var index = GlobIndex()
    for (serial, glob) in Self.globs.enumerated() { index.insert(glob, for: UInt64(serial)) }
    for name in Self.names {
      let found = index.matches(name).serials
      for (serial, glob) in Self.globs.enumerated() {
        #expect(found.contains(UInt64(serial)) == Glob.matches(glob, name), "\(glob) and \(name)")
      }
    }
  }

  @Test func equalGlobsBelongToEachThatHasThem() {
    var index = GlobIndex()
    for serial in 0..<3 { index.insert("a*", for: UInt64(serial)) }
    index.remove("a*", for: 1)
    #expect(index.matches("ab").serials == [0, 2])
  }

  @Test func globsThatBeginDifferentlyAreNotTried() {
    var index = GlobIndex()
    for number in 0..<1_000 { index.insert("room\(number).*", for: UInt64(number)) }
    #expect(index.matches("room12.x").serials == [12])
    #expect(index.matches("lobby").serials == [])
    index.remove("room12.*", for: 12)
    #expect(index.matches("room12.x").serials == [])
  }
}
