import Glibc

/// Appends events to a file, each as the line that `subscribe` prints for it.
final class EventRecorder {
  private let output: Output
  private let descriptor: Int32

  /// The file is made where there is none.
  init(_ path: String) throws(Failure) {
    descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else {
      let reason = SystemText.ofError(errno)
      throw Failure(.badInput, "the file '\(path)' cannot be written: \(reason); record into another one")
    }
    output = Output(descriptor: descriptor, named: "the file '\(path)'")
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  func record(_ event: ReceivedEvent) throws(Failure) { try output.line(event.line) }

  func flush() throws(Failure) { try output.flush() }
}
