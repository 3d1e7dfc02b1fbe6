import Testing

@testable import GatewayCore

private func text(_ text: String, _ revision: EngineIORevision) -> Result<EngineIOPacket, EngineIOProblem> {
  let bytes = [UInt8](text.utf8)
  return Result { () throws(EngineIOProblem) in try EngineIOPacket(text: bytes.span.bytes, revision: revision) }
}

private func binary(_ bytes: [UInt8], _ revision: EngineIORevision) -> Result<EngineIOPacket, EngineIOProblem> {
  Result { () throws(EngineIOProblem) in try EngineIOPacket(binary: bytes.span.bytes, revision: revision) }
}

private typealias Row = (
  input: String, four: Result<EngineIOPacket, EngineIOProblem>, three: Result<EngineIOPacket, EngineIOProblem>?
)

/// `three` is nil where both revisions agree.
private let texts: [Row] = [
  ("", .failure(.emptyPacket), nil),
  ("0{}", .success(.open(1..<3)), nil),
  ("1", .success(.close), nil),
  ("2", .success(.ping(1..<1)), nil),
  ("2probe", .success(.ping(1..<6)), nil),
  ("3", .success(.pong), nil),
  ("3probe", .success(.pong), nil),
  ("4test", .success(.message(1..<5)), nil),
  ("4", .success(.message(1..<1)), nil),
  ("5", .success(.upgrade), nil),
  ("6", .success(.noop), nil),
  ("7", .failure(.unknownType(55)), nil),
  ("x", .failure(.unknownType(120)), nil),
  (" 4", .failure(.unknownType(32)), nil),
  ("bAQIDBA==", .success(.decodedBinary([1, 2, 3, 4])), .failure(.unknownType(65))),
  ("b4AQIDBA==", .failure(.malformedBase64), .success(.decodedBinary([1, 2, 3, 4]))),
  ("b", .success(.decodedBinary([])), .failure(.emptyPacket)),
  ("b4", .failure(.malformedBase64), .success(.decodedBinary([]))),
  ("b4AQIDBA=", .success(.decodedBinary([224, 4, 8, 12, 16])), .failure(.malformedBase64)),
  ("bAQIDBB==", .failure(.malformedBase64), .failure(.unknownType(65))),
]

@Test func textPacketsAreDecodedByRevision() {
  for row in texts {
    #expect(text(row.input, .four) == row.four, "\(row.input)")
    #expect(text(row.input, .three) == row.three ?? row.four, "\(row.input)")
  }
}

@Test func binaryPacketsAreBareInRevisionFourAndPrefixedInRevisionThree() {
  #expect(binary([4, 1, 2], .four) == .success(.binary(0..<3)))
  #expect(binary([], .four) == .success(.binary(0..<0)))
  #expect(binary([4, 1, 2], .three) == .success(.binary(1..<3)))
  #expect(binary([4], .three) == .success(.binary(1..<1)))
  #expect(binary([], .three) == .failure(.emptyPacket))
  #expect(binary([52, 1], .three) == .failure(.unknownType(52)))
}

private func handshake(_ text: String) -> Result<EngineIOHandshake, EngineIOProblem> {
  let bytes = [UInt8](text.utf8)
  return Result { () throws(EngineIOProblem) in try EngineIOHandshake(parsing: bytes.span.bytes) }
}

private func usual(
  _ interval: Int64 = 25_000, _ timeout: Int64 = 20_000, _ limit: Int? = nil, _ offersWebSocket: Bool = false
) -> Result<EngineIOHandshake, EngineIOProblem> {
  .success(
    EngineIOHandshake(
      sid: "s", pingInterval: .milliseconds(interval), pingTimeout: .milliseconds(timeout), maxPayload: limit,
      offersWebSocket: offersWebSocket))
}

@Test func handshakesAreReadTolerantlyAndBounded() {
  let table: [(String, Result<EngineIOHandshake, EngineIOProblem>)] = [
    (
      #"{"sid":"s","upgrades":["webtransport","websocket"],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}"#,
      usual(25_000, 20_000, 1_000_000, true)
    ),
    (#" { "new" : [{}] , "pingTimeout":2e4, "pingInterval":25000.0,"sid":"s"} "#, usual()),
    (#"{"sid":"s","pingInterval":25000,"pingTimeout":20000,"maxPayload":null}"#, usual()),
    (#"{"sid":"s","pingInterval":25000,"pingTimeout":20000,"maxPayload":-1}"#, usual()),
    (#"{"sid":"s","pingInterval":25000,"pingTimeout":20000,"maxPayload":1e300}"#, usual()),
    (#"{"sid":"s","pingInterval":1,"pingTimeout":0.001}"#, usual(100, 100)),
    (#"{"sid":"s","pingInterval":1e18,"pingTimeout":99999999999999999999}"#, usual(600_000, 600_000)),
    (#"{"sid":"s","pingInterval":0,"pingTimeout":20000}"#, .failure(.malformedHandshake("pingInterval"))),
    (#"{"sid":"s","pingInterval":25000,"pingTimeout":-5}"#, .failure(.malformedHandshake("pingTimeout"))),
    (#"{"sid":"s","pingInterval":25000,"pingTimeout":1e999}"#, .failure(.malformedHandshake("pingTimeout"))),
    (#"{"sid":"s","pingInterval":"25000","pingTimeout":1}"#, .failure(.malformedHandshake("pingInterval"))),
    (#"{"sid":"s","pingTimeout":1}"#, .failure(.malformedHandshake("pingInterval"))),
    (#"{"sid":"","pingInterval":1,"pingTimeout":1}"#, .failure(.malformedHandshake("sid"))),
    (#"{"sid":7,"pingInterval":1,"pingTimeout":1}"#, .failure(.malformedHandshake("sid"))),
    (#"{"pingInterval":1,"pingTimeout":1}"#, .failure(.malformedHandshake("sid"))),
    (#"[]"#, .failure(.malformedHandshake("sid"))),
    (#"{"#, .failure(.handshakeNotJSON)),
    ("", .failure(.handshakeNotJSON)),
    (
      "{\"sid\":\"\(String(repeating: "s", count: 1_025))\",\"pingInterval\":1,\"pingTimeout\":1}",
      .failure(.malformedHandshake("sid"))
    ),
    (String(repeating: " ", count: 20_000) + "{}", .failure(.handshakeTooLong)),
  ]
  for (input, expected) in table { #expect(handshake(input) == expected, "\(input.prefix(100))") }
}
