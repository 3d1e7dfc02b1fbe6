import Glibc

StandardStreams.hold()
Signals.install()
exit(Program.run(CommandLine.arguments.dropFirst().map { $0 }, environment: .ofProcess()))
