import CLinux
import Glibc

/// Starts a program without a shell.
enum CommandSpawn {
  /// Starts it in a new process group, in `/`, with no descriptor but standard input and standard error on `/dev/null` and
  /// standard output on a pipe.
  /// - Returns: the process, and the end of the pipe to read from, which is non-blocking and close-on-exec.
  static func start(_ path: String, words: [String], environment: [String]) throws(SystemError) -> (pid_t, Int32) {
    var reading: Int32 = -1
    var writing: Int32 = -1
    guard gw_pipe(&reading, &writing) == 0 else { throw SystemError("make a pipe") }
    defer { close(writing) }
    var arguments = words.map { strdup($0) } + [nil]
    var variables = environment.map { strdup($0) } + [nil]
    defer { for text in arguments + variables { free(text) } }
    var process: pid_t = 0
    let code = gw_spawn(path, &arguments, &variables, writing, &process)
    guard code == 0 else {
      close(reading)
      throw SystemError("start \(path)", code: code)
    }
    _ = fcntl(reading, F_SETFL, O_NONBLOCK)
    return (process, reading)
  }
}
