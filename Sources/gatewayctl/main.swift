import Glibc

StandardStreams.hold()
Signals.install()
exit(Program.run(ProgramWords.ofProcess, environment: .ofProcess()))
