import Testing

@testable import GatewayCore

/// Which facts an error carries.
@Suite struct ErrorCausesTests {
  @Test(arguments: [
    ("http", "/admin", "/admin" as String?), ("wss", "/", "/"), ("wamp+ws", "/", nil), ("raw+ws", "/", nil),
    ("tcp", "/", nil),
  ])
  func aRefusalNamesTheNamespaceOnlyWhereThereAreSome(_ scheme: String, _ namespace: String, _ told: String?) {
    let error = LocalError(
      refused: UpstreamFailure(.refused, "refused", serverMessage: "no"),
      by: UpstreamSpecification(
        name: "chat", url: UpstreamURL(scheme: scheme, host: "h"), namespace: namespace, settings: UpstreamSettings(),
        owner: nil))
    #expect(error.kind == .upstreamRefused)
    #expect(error.facts.first { $0.name == "namespace" }?.value == told.map { .string($0) })
  }
}
