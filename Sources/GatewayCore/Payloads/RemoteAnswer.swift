/// What a server answered to a command, as raw JSON text in the local form.
struct RemoteAnswer: Equatable, Sendable {
  /// The arguments, separated by commas, without brackets, possibly empty.
  var args: [UInt8]
  /// An object; nil where the kind has none or the server sent none.
  var kwargs: [UInt8]?
  /// Bytes of an answer that is longer than a line and was not kept.
  private var omitted = 0

  /// Whether it can be shown.
  private(set) var isReadable = true

  /// An answer that cannot be shown.
  static let unreadable: RemoteAnswer = {
    var answer = RemoteAnswer([])
    answer.isReadable = false
    return answer
  }()

  /// An answer of which only the length is known, in bytes.
  init(tooLong size: Int) {
    args = []
    omitted = size
  }

  init(_ args: [UInt8], kwargs: [UInt8]? = nil) {
    self.args = args
    self.kwargs = kwargs
  }

  init(_ args: RawSpan, kwargs: RawSpan?) {
    self.args = args.withUnsafeBytes { Array($0) }
    if let kwargs { self.kwargs = kwargs.withUnsafeBytes { Array($0) } }
  }

  /// Only its length is known.
  var isOmitted: Bool { omitted > 0 }

  /// What it takes in a line.
  var byteCount: Int { args.count + (kwargs?.count ?? 0) + omitted }

  /// The members `args` and, where there are some, `kwargs`.
  func write(into out: inout JSONWriter) {
    out.member(#""args":["#, elements: args.span.bytes, "]")
    guard let kwargs else { return }
    out.key("kwargs")
    out.raw(kwargs)
  }
}

/// The application at the other end answered with an error: it was reached, it understood, and it declined.
struct RemoteError: Equatable, Sendable {
  /// What the server calls it, such as a URI; at most `nameLimit` bytes and a mark.
  var name: String
  /// What came with it.
  var answer: RemoteAnswer

  /// Longest name that is kept whole, in bytes: as long as one that a program may send.
  static let nameLimit = 1_024

  init(_ name: String, _ answer: RemoteAnswer = RemoteAnswer([])) {
    self.name = name.shortened(to: Self.nameLimit)
    self.answer = answer
  }
}
