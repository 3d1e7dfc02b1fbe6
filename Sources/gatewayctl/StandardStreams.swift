import Glibc

/// The three streams that every program expects to be open.
enum StandardStreams {
  /// Takes the places of those that the caller closed, so that no socket gets the number of one of them: what is meant for
  /// standard output would go to the daemon, as calls. Each is opened the wrong way round, so that using it fails as it
  /// does with a closed one, except standard error, whose words are lost. To be called first.
  static func hold() {
    for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_WRONLY)]
    where fcntl(descriptor, F_GETFD) < 0 {
      // The lowest free number is this one.
      _ = open("/dev/null", mode)
    }
  }
}
