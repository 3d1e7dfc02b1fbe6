/// Lets connections that want the same secret at the same time share one reading: a command runs once for all of them.
final class CredentialReads {
  typealias Answer = (Result<[UInt8], CredentialProblem>) -> Void

  private let reader: any CredentialReader
  private var waiting: [SecretRequest: [Answer]] = [:]

  init(reader: any CredentialReader) { self.reader = reader }

  /// Calls back exactly once, possibly before it returns.
  func read(_ request: SecretRequest, _ done: @escaping Answer) {
    guard waiting[request] == nil else {
      waiting[request]?.append(done)
      return
    }
    waiting[request] = [done]
    reader.read(request) { [weak self] result in
      for answer in self?.waiting.removeValue(forKey: request) ?? [] { answer(result) }
    }
  }

  /// What is different once the source has changed; nil where only reading it tells.
  func version(of source: SecretSource) -> SecretVersion? { reader.version(of: source) }
}
