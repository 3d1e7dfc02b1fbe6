// swift-tools-version: 6.2
import PackageDescription

/// Every warning of our own sources is an error; the language mode is Swift 6 by the tools version.
let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]

/// Both builds leave out the regular expressions, 1.3 MB of each program, and with them the functions of `String` that are
/// theirs: what one build takes the other takes too. Decision 0133. SwiftPM has no setting for it but the unsafe flags.
let plain: [SwiftSetting] = [
  .unsafeFlags(["-Xfrontend", "-disable-implicit-string-processing-module-import"])
]

/// The tests run with the checks of exclusive access, the optimised build without: they cost a seventh of what an event
/// costs. Decision 0058. Each function is a section, and none is kept only because another program could call it: what is
/// used lies together, and the rest goes. Decision 0135. Small functions of the core are inlined in the programs, which is
/// 1 to 2 % of an event; a profile would be some more. Decision 0138. SwiftPM has settings for none of these but the unsafe
/// flags.
let optimised: [SwiftSetting] = [
  .unsafeFlags(
    [
      "-enforce-exclusivity=unchecked", "-Xfrontend", "-function-sections", "-Xfrontend", "-internalize-at-link",
      "-cross-module-optimization",
    ], .when(configuration: .release))
]

/// Scripts start the command line program thousands of times, and more than half of a short run would be spent on putting
/// shared libraries together. SwiftPM links statically on its command line alone, and then both programs: hence the unsafe
/// flag. Decision 0060. What it then weighs: decision 0136. What it runs lies together. Decision 0135.
let alone: [LinkerSetting] = [
  .unsafeFlags(
    [
      "-static-executable",
      "-Xlinker", "--section-ordering-file=\(Context.packageDirectory)/packaging/gatewayctl.order",
    ], .when(configuration: .release))
]

/// What makes the daemon's image smaller and safer: packed relocations, no symbols for others but the one that GnuTLS looks
/// for, equal functions once, and everything that the start has resolved is read-only afterwards. Decision 0071. What it
/// runs lies together. Decision 0135. SwiftPM has no settings for the linker's options but unsafe flags.
let compact: [LinkerSetting] = [
  .unsafeFlags(
    [
      "-use-ld=lld", "-Xlinker", "-z", "-Xlinker", "pack-relative-relocs", "-Xlinker", "-z", "-Xlinker", "now",
      "-Xlinker", "--icf=safe", "-Xlinker", "--no-export-dynamic",
      "-Xlinker", "--export-dynamic-symbol=_gnutls_global_init_skip",
      "-Xlinker", "--symbol-ordering-file=\(Context.packageDirectory)/packaging/gatewayd.order",
      "-Xlinker", "--no-warn-symbol-ordering",
    ], .when(configuration: .release))
]

/// Debian's C libraries, each behind its own module map and each imported by one Swift file.
let systemModules: [Target] = [
  .systemLibrary(name: "CSystemdEvent", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
  .systemLibrary(name: "CSystemdBus", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
  .systemLibrary(name: "CSystemdDaemon", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
  .systemLibrary(name: "CSystemdJournal", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
  .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
  .systemLibrary(name: "CArgon2", pkgConfig: "libargon2", providers: [.apt(["libargon2-dev"])]),
  .systemLibrary(name: "CStringprep", pkgConfig: "libidn", providers: [.apt(["libidn-dev"])]),
  .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
  .systemLibrary(name: "CTLS", path: "Tests/CTLS", pkgConfig: "libssl", providers: [.apt(["libssl-dev"])]),
]

let package = Package(
  name: "gatewayd",
  products: [
    .executable(name: "gatewayd", targets: ["gatewayd"]),
    .executable(name: "gatewayctl", targets: ["gatewayctl"]),
    .library(name: "GatewayClient", targets: ["GatewayClient"]),
  ],
  targets: systemModules + [
    .target(name: "CCrypto"),
    .target(name: "CCurl"),
    .target(name: "CLinux"),
    .target(name: "CNetlink"),
    .target(name: "CToml"),
    .target(name: "GatewayCore", swiftSettings: strict + plain + optimised),
    .executableTarget(
      name: "gatewayd",
      dependencies: [
        "GatewayCore", "CLinux", "CNetlink", "CToml", "CSystemdEvent", "CSystemdBus", "CSystemdDaemon",
        "CSystemdJournal", "CCurl", "CCrypto", "CArgon2", "CStringprep", "CZlib", "CSQLite",
      ],
      swiftSettings: strict + plain + optimised, linkerSettings: compact),
    .executableTarget(
      name: "gatewayctl", dependencies: ["GatewayCore", "CLinux"], swiftSettings: strict + plain + optimised,
      linkerSettings: alone),
    // A package that depends on a version of this one may have no unsafe flags in what it uses.
    .target(name: "GatewayClient", path: "clients/swift/Sources/GatewayClient", swiftSettings: strict),
    .testTarget(name: "GatewayClientTests", dependencies: ["GatewayClient"], swiftSettings: strict),
    .testTarget(name: "GatewayCoreTests", dependencies: ["GatewayCore"], swiftSettings: strict),
    .testTarget(name: "gatewaydTests", dependencies: ["gatewayd", "GatewayCore", "CTLS"], swiftSettings: strict),
    .testTarget(name: "gatewayctlTests", dependencies: ["gatewayctl", "GatewayCore", "CLinux"], swiftSettings: strict),
  ],
  cxxLanguageStandard: .cxx17
)
