import Glibc

// The way of everything through the daemon begins in `DaemonStart`.
exit(DaemonStart.run(Array(CommandLine.arguments.dropFirst())).rawValue)
