/// The words of the command line as they were given. Swift's own list of them shows bytes that are no UTF-8 as U+FFFD,
/// which would then be sent.
enum ProgramWords {
  /// Those of this process, without its name. Throws for one that is no text.
  static func ofProcess() throws(Failure) -> [String] {
    var words: [String] = []
    for index in 1..<max(1, Int(CommandLine.argc)) {
      guard let bytes = CommandLine.unsafeArgv[index] else { break }
      guard let word = String(validatingCString: bytes) else {
        throw Failure(
          .badInput,
          "word \(index) of the command line is not valid UTF-8; write it in UTF-8, or send bytes with --binary FILE")
      }
      words.append(word)
    }
    return words
  }
}
