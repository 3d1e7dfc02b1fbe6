@testable import GatewayCore
import Testing

@testable import gatewayctl

@Suite struct ExitCodeTests {
  /// The table of the manual, in full.
  private static let expected: [LocalError.Kind: Int32] = [
    .ackTimeout: 124, .expired: 124, .upstreamDown: 69, .upstreamUnknown: 69, .upstreamRefused: 73, .ackLost: 74,
    .unrecoverable: 74, .queueFull: 75, .quotaExceeded: 75, .draining: 75, .permissionDenied: 77, .parseError: 65,
    .invalidParams: 65, .payloadTooLarge: 65, .internalError: 70, .invalidRequest: 1, .methodNotFound: 1,
    .cancelled: 1, .conflict: 1, .illegalState: 1, .ackGone: 1, .requestFailed: 1,
  ]

  @Test(arguments: LocalError.Kind.allCases)
  func everyTypeOfErrorHasItsExitCode(_ kind: LocalError.Kind) throws {
    #expect(ExitCode(kind).rawValue == Self.expected[kind])
  }

  @Test func theMeaningCoversWhatEndsSo() {
    let words: [(LocalError.Kind, String)] = [
      (.invalidParams, "does not accept"), (.upstreamDown, "upstream down"), (.upstreamUnknown, "unknown"),
      (.ackLost, "acknowledgement"), (.unrecoverable, "gap"),
    ]
    for (kind, word) in words { #expect(ExitCode(kind).meaning.contains(word), "\(kind)") }
    #expect(!ExitCode.unavailable.meaning.contains("--no-queue"))
  }

  @Test func theTypeDecidesAndTheCodeHelpsOut() throws {
    let typed = try #require(DaemonError(Array(#"{"code":-1,"message":"m","data":{"type":"QueueFull"}}"#.utf8)))
    #expect(typed.kind == .queueFull)
    let untyped = try #require(DaemonError(Array(#"{"code":-32601,"message":"m"}"#.utf8)))
    #expect(untyped.kind == .methodNotFound)
    let unknown = try #require(DaemonError(Array(#"{"code":-1,"message":"m","data":{"type":"New"}}"#.utf8)))
    #expect(unknown.failure == Failure(.refusedByDaemon, "m"))
  }

  @Test func onlyWhoMayReadTheLogIsSentThere() throws {
    let error = try #require(DaemonError(Array(#"{"code":-32603,"message":"The disk is full."}"#.utf8)))
    #expect(
      error.failure(readsJournal: true).message
        == "The disk is full; the daemon's log tells more: journalctl -u gatewayd")
    #expect(
      error.failure(readsJournal: false).message
        == "The disk is full; 'gatewayctl status' shows what the daemon cannot do; an administrator finds more in its log"
    )
  }

  /// How `data.type` and further members of an error with this message are shown.
  private func shown(_ message: String, _ data: String) throws -> String? {
    let text = #"{"code":-1,"message":\#(message),"data":{\#(data)}}"#
    return try #require(DaemonError(Array(text.utf8))).failure.message
  }

  @Test func aSemicolonOfTheServerDoesNotPassForAdvice() throws {
    let down = "'gatewayctl doctor' finds out why, 'gatewayctl status' tells more, 'gatewayctl wait' waits for it"
    #expect(
      try shown(
        #""Not connected: closed; code 1006.""#,
        #""type":"UpstreamDown","reason":"closed","detail":"closed; code 1006""#)
        == "Not connected: closed; code 1006; \(down)")
    // The daemon's own advice is enough.
    #expect(
      try shown(#""Not connected; wait a moment.""#, #""type":"UpstreamDown","reason":"closed","detail":"x""#)
        == "Not connected; wait a moment.")
  }

  @Test func aRefusalNamesTheNamespaceOnlyWhereThereAreSome() throws {
    func refused(_ more: String) throws -> String? {
      try shown(#""It says: no; never""#, #""type":"UpstreamRefused","message":"no; never","data":null\#(more)"#)
    }
    let doctor = "'gatewayctl doctor' finds out more"
    #expect(try refused("") == "It says: no; never; check the credentials; \(doctor)")
    #expect(
      try refused(#","namespace":"/admin""#)
        == "It says: no; never; check the credentials, and the URL, whose path is the namespace; \(doctor)")
    #expect(
      try refused(#","namespace":"/socket.io/""#)
        == "It says: no; never; leave /socket.io/ out of the URL, whose path is the namespace; \(doctor)")
  }

  @Test func theHelpIsNamedOnlyWhereItExplainsSomething() throws {
    func shown(_ message: String) throws -> DaemonError {
      try #require(DaemonError(Array(#"{"code":-32602,"message":"\#(message)"}"#.utf8)))
    }
    let port = "`url` cannot be used: the URL's port is not a number from 1 to 65535."
    #expect(try shown(port).failure.message == "URL cannot be used: the URL's port is not a number from 1 to 65535.")
    #expect(
      try shown(#"The param \"retries\" must be less."#).failure.message
        == "--retries must be less; 'gatewayctl help COMMAND' explains the options")
  }

  @Test func aCallIsSentToWhatExplainsItsMethod() throws {
    let params = try #require(DaemonError(Array(#"{"code":-32602,"message":"It needs params."}"#.utf8)))
    #expect(
      params.failure(ofCall: "outbox.cancel").message
        == "It needs params; 'gatewayctl introspect outbox.cancel' explains its params")
    let unknown = try #require(
      DaemonError(Array(#"{"code":-32601,"message":"There is no method; \"rpc.discover\" lists all."}"#.utf8)))
    #expect(unknown.failure(ofCall: "x").message == "There is no method; 'gatewayctl introspect' lists all.")
  }

  @Test(arguments: [
    (#""args":["it costs 5; `url` unknown",{"have":3.0}],"kwargs":{}"#, #": it costs 5; `url` unknown, {"have":3.0}"#),
    (#""args":["a\u0041"],"kwargs":{"k":"\u0042"}"#, #": aA, {"k":"\u0042"}"#), (#""args":[]"#, "."),
    (#""args":[""]"#, "."),
    (#""limit":100,"size":200"#, "."),
  ])
  func anErrorOfTheApplicationIsShownWithItsWords(_ members: String, _ words: String) throws {
    let message = "The server answered with the error no.money"
    #expect(
      try shown(#""\#(message).""#, #""type":"RequestFailed","error":"no.money",\#(members)"#) == message + words)
  }

  @Test func longWordsOfTheApplicationAreShortened() throws {
    let long = String(repeating: "x", count: 5000)
    let text = try #require(
      try shown(#""It answered.""#, #""type":"RequestFailed","error":"e","args":["\#(long)"]"#))
    #expect(text == "It answered: " + String(repeating: "x", count: 1024) + "…")
  }

  @Test func adviceIsAddedOnlyWhereTheDaemonGivesNone() throws {
    let plain = try #require(DaemonError(Array(#"{"code":-32004,"message":"It is full."}"#.utf8)))
    #expect(plain.failure.message == "It is full; try again later")
    let advised = try #require(DaemonError(Array(#"{"code":-32004,"message":"It is full; wait."}"#.utf8)))
    #expect(advised.failure.message == "It is full; wait.")
    // What a server says may hold a semicolon, and words that become those of the command line.
    let words = #"{"type":"UpstreamRefused","detail":"bad; `url` unknown"}"#
    let server = try #require(
      DaemonError(Array(#"{"code":-32004,"message":"chat refused: bad; `url` unknown","data":\#(words)}"#.utf8)))
    #expect(server.failure.message?.hasSuffix("; check the credentials; 'gatewayctl doctor' finds out more") == true)
  }
}
