/// What is wrong with the body of a poll.
enum PayloadProblem: Error, Equatable, Sendable {
  /// A length, a kind or a separator that is not where it must be.
  case malformed
  /// A body that ends within a packet.
  case incomplete
  /// Text that is not UTF-8.
  case notUTF8
  /// More packets than a body may hold.
  case tooManyPackets
  /// One packet above the limit of a message.
  case tooLarge

  /// As the end of a link.
  var failure: UpstreamFailure {
    switch self {
    case .malformed: UpstreamFailure(.protocolError, "the server answered a poll with a malformed payload")
    case .incomplete: UpstreamFailure(.protocolError, "the server's answer to a poll ends within a packet")
    case .notUTF8: UpstreamFailure(.protocolError, "the server's answer to a poll holds text that is not UTF-8")
    case .tooManyPackets:
      UpstreamFailure(.tooLarge, "the server's answer to a poll holds more than \(PayloadReader.packetLimit) packets")
    case .tooLarge: UpstreamFailure(.tooLarge, "the server's answer to a poll holds a message above the limit")
    }
  }
}
