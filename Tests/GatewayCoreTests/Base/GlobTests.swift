import Testing
@testable import GatewayCore

@Suite struct GlobTests {
  @Test(arguments: [
    ("", "", true), ("", "a", false), ("*", "", true), ("*", "anything", true), ("**", "", true), ("?", "", false),
    ("?", "a", true), ("?", "ab", false), ("chat", "chat", true), ("chat", "Chat", false), ("chat", "chats", false),
    ("chat.*", "chat.new", true), ("chat.*", "chat.", true), ("chat.*", "chat", false), ("*.new", "chat.new", true),
    ("*.new", "chat.newer", false), ("c*t", "chat", true), ("c*t", "ct", true), ("c*t", "chatter", false),
    ("*a*b*", "xxaxxbxx", true), ("*a*b*", "xxbxxaxx", false), ("a?c", "abc", true), ("a?c", "ac", false),
    ("*?", "", false), ("*?", "a", true), ("?*?", "a", false), ("?*?", "ab", true), ("*aab", "aaaab", true),
    (#"\*"#, "*", true), (#"\*"#, "a", false), (#"a\?"#, "a?", true), (#"a\?"#, "ab", false), (#"\\"#, #"\"#, true),
    (#"\a"#, "a", true), (#"a\"#, #"a\"#, true), (#"*\**"#, "a*b", true), (#"*\**"#, "ab", false),
    ("[a]", "[a]", true), ("[a]", "a", false), ("{a,b}", "a", false), ("a/*", "a/b/c", true), ("*", ".hidden", true),
  ])
  func everyPatternMeansWhatItSays(pattern: String, name: String, expected: Bool) {
    #expect(Glob.matches(pattern, name) == expected)
  }

  @Test func aQuestionMarkIsOneUnicodeScalarNotOneByte() {
    #expect(Glob.matches("?", "é"))
    #expect(Glob.matches("gr?n", "grün"))
    #expect(Glob.matches("?", "😀"))
    #expect(!Glob.matches("??", "😀"))
    #expect(!Glob.matches("*??", "é"))
    #expect(Glob.matches("*?é", "üé"))
    #expect(!Glob.matches("?", "e\u{301}"), "two scalars that look like one character")
    #expect(Glob.matches("??", "e\u{301}"))
    #expect(!Glob.matches("é", "e\u{301}"), "another spelling is another name")
  }

  /// The definition, word by word; exponential.
  static func definition(_ pattern: ArraySlice<UnicodeScalar>, _ name: ArraySlice<UnicodeScalar>) -> Bool {
    guard let first = pattern.first else { return name.isEmpty }
    switch first {
    case "*":
      return definition(pattern.dropFirst(), name) || !name.isEmpty && definition(pattern, name.dropFirst())
    case "?":
      return !name.isEmpty && definition(pattern.dropFirst(), name.dropFirst())
    case "\\" where pattern.count > 1:
      return name.first == pattern[pattern.startIndex + 1] && definition(pattern.dropFirst(2), name.dropFirst())
    default:
      return name.first == first && definition(pattern.dropFirst(), name.dropFirst())
    }
  }

  @Test func randomPatternsMatchExactlyAsDefined() {
    let random = FakeRandom(seed: 11)
    func text(_ alphabet: [Character], _ longest: Int) -> String {
      String(
        (0..<Int(random.bits() % UInt64(longest + 1))).map { _ in alphabet[Int(random.bits() % UInt64(alphabet.count))]
        })
    }
    var matched = 0
    var wrong: [String] = []
    for _ in 0..<30_000 {
      let pattern = text(["a", "b", "é", "*", "*", "?", "\\"], 7)
      let name = text(["a", "b", "é", "*", "\\"], 6)
      let expected = Self.definition(Array(pattern.unicodeScalars)[...], Array(name.unicodeScalars)[...])
      if Glob.matches(pattern, name) != expected { wrong.append("\(pattern) \(name) \(expected)") }
      if expected { matched += 1 }
    }
    #expect(wrong == [])
    #expect(matched > 1_000, "the sample says something")
  }

  @Test func theAutomatonMatchesExactlyTheSame() {
    let random = FakeRandom(seed: 12)
    func text(_ alphabet: [Character], _ longest: Int) -> String {
      String(
        (0..<Int(random.bits() % UInt64(longest + 1))).map { _ in alphabet[Int(random.bits() % UInt64(alphabet.count))]
        })
    }
    var wrong: [String] = []
    for _ in 0..<20_000 {
      let pattern = text(["a", "b", "é", "😀", "*", "*", "?", "\\"], 8)
      let name = text(["a", "b", "é", "😀", "\\"], 7)
      let expected = Self.definition(Array(pattern.unicodeScalars)[...], Array(name.unicodeScalars)[...])
      let found = GlobAutomaton(pattern.utf8Span.span).matches(name.utf8Span.span)
      if found != expected { wrong.append("\(pattern) \(name) \(expected)") }
    }
    #expect(wrong == [])
  }

  /// Going back at each byte would take as long as name and glob multiplied, so that the automaton decides.
  @Test(arguments: [(16, 1), (60, 1), (64, 2), (EventFilter.globLengthLimit - 2, 5)])
  func aGlobThatNearlyFitsEverywhereIsDecidedInAFewMachineWords(length: Int, words: Int) {
    let name = String(repeating: "a", count: EventName.limit)
    let glob = "*" + String(repeating: "a", count: length) + "b"
    #expect(!Glob.matches(glob, name) && Glob.matches(glob, name + "b"))
    #expect(Glob.matchesGoingBack(glob.utf8Span.span, name.utf8Span.span) == nil, "the automaton decides")
    #expect(!Glob.matches(glob, String(name.prefix(length - 1)) + "b"))
    #expect(GlobAutomaton.words(of: glob.utf8.count) == words)
  }

  @Test func manyStarsDoNotMakeItExponential() {
    let pattern = String(repeating: "a*", count: 120) + "b"
    let name = String(repeating: "a", count: 5_000)
    #expect(!Glob.matches(pattern, name))
    #expect(Glob.matches(pattern, name + "b"))
  }

  @Test(arguments: ["", "plain", "a*b", "what?", #"back\slash"#, #"\"#, "ä*🙂"]) func anEscapedNameIsNoPattern(
    _ name: String
  ) {
    let text = Glob.escape(name)
    #expect(!Glob.isPattern(text) && Glob.unescape(text) == name)
  }

  @Test(arguments: [
    ("", false, ""), ("chat", false, "chat"), ("a*", true, ""), ("?", true, ""), (#"a\*"#, false, "a*"),
    (#"a\\*"#, true, ""), (#"\\"#, false, #"\"#), (#"a\"#, false, #"a\"#), (#"\a\b"#, false, "ab"),
    (#"é\?"#, false, "é?"),
  ])
  func aTextWithoutWildcardsIsAName(text: String, isPattern: Bool, name: String) {
    #expect(Glob.isPattern(text) == isPattern)
    if !isPattern {
      #expect(Glob.unescape(text) == name)
      #expect(Glob.matches(text, name))
    }
  }

  @Test func noEventsMeansAllAndAnEmptyListNone() throws {
    #expect(EventFilter.all.matches("anything"))
    #expect(try EventFilter(nil) == .all)
    #expect(EventFilter.all.passesAll)
    #expect(try !EventFilter([]).matches("anything"))
  }

  @Test func aFilterTakesNamesAndGlobs() throws {
    let filter = try EventFilter(["chat", "news.*", #"star\*"#, "chat"])
    #expect(["chat", "news.new", "news.", "star*"].allSatisfy(filter.matches))
    #expect(!["Chat", "chats", "news", "starx", #"star\*"#].contains(where: filter.matches))
    #expect(filter.exactNames.map(\.text).sorted() == ["chat", "star*"])
    #expect(filter.globs == ["news.*"])
    #expect(!filter.passesAll)
  }

  @Test func aNameIsItsBytes() throws {
    let filter = try EventFilter(["\u{e9}"])
    #expect(filter.matches("\u{e9}"))
    #expect(!filter.matches("e\u{301}"))
    #expect(try EventFilter(["\u{e9}", "e\u{301}"]).exactNames.count == 2)
  }

  private static func refusal(_ sentence: String) -> LocalError { .invalid("events", sentence) }

  @Test func whatWouldBeDearToMatchIsRefused() throws {
    let many = (0...EventFilter.globLimit).map { "\($0)*" }
    #expect(throws: Self.refusal("'events' has more than 256 globs.")) { try EventFilter(many) }
    #expect(try EventFilter(many.dropLast()).matches("0x"))
    let long = String(repeating: "a", count: EventFilter.globLengthLimit) + "*"
    #expect(throws: Self.refusal("a glob in 'events' is longer than 256 bytes.")) {
      try EventFilter([long])
    }
    #expect(try EventFilter([String(long.dropLast())]).matches(String(long.dropLast())), "a name may be longer")
  }
}

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
