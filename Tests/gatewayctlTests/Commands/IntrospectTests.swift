@testable import GatewayCore
import Testing

@testable import gatewayctl

@Suite struct IntrospectTests {
  /// What the daemon really says.
  private static let document: [UInt8] = {
    var writer = JSONWriter()
    writer.beginObject()
    Discovery.write(MethodTable.methods, version: "1.0.0", into: &writer)
    writer.endObject()
    return writer.bytes
  }()

  private let view = IntrospectView(palette: Palette(isColored: false))

  private func run(_ words: String...) throws -> ControlProgram.Outcome {
    let daemon = try FakeDaemon { daemon in
      let client = try daemon.accept()
      client.reply(try client.call("rpc.discover"), String(decoding: Self.document, as: UTF8.self))
    }
    defer { try? daemon.finish() }
    return try ControlProgram.run(["introspect"] + words, socket: daemon.path)
  }

  @Test func theListNamesEveryMethodWithItsRight() throws {
    let list = view.list(try JSONValue.parse(Self.document.span.bytes, limit: .max))
    for method in try #require(try JSONValue.parse(Self.document.span.bytes, limit: .max)["methods"]?.elements) {
      #expect(list.contains("\n\(method["name"]?.stringValue ?? "?") "))
    }
    #expect(list.contains("\ngap "))
  }

  @Test func aPageShowsTypesAndWhatMayBeLeftOut() throws {
    let text = """
      {"name":"m","summary":"Does it.","x-right":"send","params":[
      {"name":"a","summary":"One.","required":true,"schema":{"type":"integer"}},
      {"name":"b","summary":"Two.","required":false,"schema":{"enum":["x","y"]}}],
      "result":{"schema":{"type":"object","properties":{"c":{"type":"array","items":{"anyOf":[{"type":"string"},
      {"type":"null"}]},"description":"Three."}},"required":["c"]}}}
      """
    let value = try JSONValue.parse(Array(text.utf8).span.bytes)
    #expect(
      view.page(value) == """
        m
        Does it.
        Needs the right 'send'.

        PARAMS  TYPE     MEANING
        a       integer  One.
        b?      x|y      Two.

        RESULT  TYPE            MEANING
        c       [string|null…]  Three.

        """)
  }

  @Test func oneMethodOrNotificationCanBeAskedFor() throws {
    #expect(try run("subscribe").output.hasPrefix(#"{"name":"subscribe","#))
    #expect(try run("goodbye").output.hasPrefix(#"{"name":"goodbye","#))
    #expect(try run().output == String(decoding: Self.document, as: UTF8.self) + "\n")
    let unknown = try run("subscrbe")
    #expect(unknown.status == 1)
    #expect(unknown.errors == "gatewayctl: the daemon has no method 'subscrbe'; did you mean 'subscribe'?\n")
  }
}
