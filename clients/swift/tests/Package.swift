// swift-tools-version: 6.2
import PackageDescription

/// The programs with which the tests use the Swift client as others do: from a package of their own. The tests name a
/// repository with a tag in $GATEWAYD_REPOSITORY; without it the sources beside this folder are used.
let gatewayd: Package.Dependency =
  if let repository = Context.environment["GATEWAYD_REPOSITORY"] {
    .package(url: repository, from: "1.0.0")
  } else {
    .package(name: "gatewayd", path: "../../..")
  }

let client: [Target.Dependency] = [.product(name: "GatewayClient", package: "gatewayd")]

let package = Package(
  name: "client-programs",
  dependencies: [gatewayd],
  targets: [
    .executableTarget(name: "Scenarios", dependencies: client),
    .executableTarget(name: "Follow", dependencies: client),
    .executableTarget(name: "QuickStart", dependencies: client),
    .executableTarget(name: "Example", dependencies: client),
    .executableTarget(name: "Tour", dependencies: client),
  ]
)
