/// Why MessagePack data from a server is not handed on.
enum MsgpackProblem: Error, Equatable, Sendable {
  /// It is no MessagePack, or ends too early.
  case malformed
  /// It is, but holds something that has no form in JSON.
  case undecodable
  /// More binary values than allowed.
  case tooManyBinaries(limit: Int)
  /// Its JSON text would be larger than allowed.
  case tooLarge
}
