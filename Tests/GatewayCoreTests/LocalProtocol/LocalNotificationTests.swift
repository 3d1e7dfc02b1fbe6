import Testing

@testable import GatewayCore

private func text(_ line: [UInt8]) -> String { String(decoding: line, as: UTF8.self) }

private func event(_ name: String, _ arguments: String, ack: String? = nil, subscription: String = "s1") -> String {
  let name = Array(name.utf8)
  let arguments = Array(arguments.utf8)
  var line = LocalNotification.eventHead(subscription: subscription)
  LocalNotification.eventTail(
    seq: 4101, time: 1_795_232_601_218, name: name.span.bytes, arguments: arguments.span.bytes, ack: ack, into: &line)
  return text(line)
}

@Suite struct LocalNotificationTests {
  @Test func anEventCarriesItsArgumentsVerbatim() {
    #expect(
      event(#""chat""#, #""hi",{"from":"ann"}"#)
        == #"{"jsonrpc":"2.0","method":"event","params":{"subscription":"s1","seq":4101,"time":1795232601218,"#
        + #""event":"chat","args":["hi",{"from":"ann"}]}}"# + "\n")
    #expect(
      event(#""\u0063onfirm""#, "7.00, 1e400", ack: "a81")
        == #"{"jsonrpc":"2.0","method":"event","params":{"subscription":"s1","seq":4101,"time":1795232601218,"#
        + #""event":"\u0063onfirm","args":[7.00, 1e400],"ack":"a81"}}"# + "\n")
    #expect(event(#""e""#, "").hasSuffix(#""event":"e","args":[]}}"# + "\n"))
  }

  @Test func aNameThatIsNoStringIsQuoted() {
    #expect(event("12", "").contains(#""event":"12","args""#))
  }

  @Test func idsOfClientsAreEscaped() throws {
    let line = event(#""e""#, "1", ack: "\"\n", subscription: "a\"\\\n\u{1}é")
    let value = try JSONValue.parse(Array(line.utf8).span.bytes)
    #expect(value["params"]?["subscription"] == .string("a\"\\\n\u{1}é"))
    #expect(value["params"]?["ack"] == .string("\"\n"))
    #expect(line.utf8.filter { $0 == UInt8(ascii: "\n") }.count == 1)
  }

  @Test func aStateTellsWhatIsKnown() {
    #expect(
      text(
        LocalNotification.state(
          subscription: "s1", state: .disconnected, epoch: "e7", attempt: 3, retryIn: 1_800, reason: .unreachable,
          detail: "connection refused", status: 502))
        == #"{"jsonrpc":"2.0","method":"state","params":{"subscription":"s1","state":"disconnected","epoch":"e7","#
        + #""attempt":3,"in":1800,"reason":"unreachable","detail":"connection refused","status":502}}"# + "\n")
    #expect(
      text(
        LocalNotification.state(
          subscription: "s1", state: .connected, epoch: "e7", attempt: nil, retryIn: nil, reason: nil, detail: nil,
          status: nil))
        == #"{"jsonrpc":"2.0","method":"state","params":{"subscription":"s1","state":"connected","epoch":"e7"}}"# + "\n"
    )
  }

  @Test func aGapTellsItsRangeWhereThereIsOne() {
    #expect(
      text(
        LocalNotification.gap(subscription: "s1", epoch: "e7", range: 4_103...4_390, count: 288, reason: .slowConsumer))
        == #"{"jsonrpc":"2.0","method":"gap","params":{"subscription":"s1","epoch":"e7","from":4103,"to":4390,"#
        + #""count":288,"reason":"slow_consumer"}}"# + "\n")
    #expect(
      text(LocalNotification.gap(subscription: "s1", epoch: "e8", range: nil, count: nil, reason: .upstream))
        == #"{"jsonrpc":"2.0","method":"gap","params":{"subscription":"s1","epoch":"e8","reason":"upstream"}}"# + "\n")
  }

  @Test func aGoodbyeTellsWhenToComeBack() {
    #expect(
      text(LocalNotification.goodbye(reason: "restart", reconnectIn: .milliseconds(200)))
        == #"{"jsonrpc":"2.0","method":"goodbye","params":{"reason":"restart","reconnect_in":200}}"# + "\n")
    #expect(
      text(LocalNotification.goodbye(reason: "kicked", reconnectIn: nil))
        == #"{"jsonrpc":"2.0","method":"goodbye","params":{"reason":"kicked"}}"# + "\n")
  }
}
