import Testing

@testable import GatewayCore

/// The index of names against a plain list, by random operations.
@Suite struct NamespacesTests {
  private let rig = SocketIORig()
  private let owner = ChannelLog()

  private func channel(_ namespace: String) throws -> SocketIOChannel {
    let connector = try #require(rig.kind.connector(for: rig.specification(namespace)) as? SocketIOConnector)
    return SocketIOChannel(connector: connector, owner: owner)
  }

  @Test(arguments: 0..<20)
  func aNameFindsItsChannelWhateverCameAndWent(_ seed: UInt64) throws {
    var random = seed &+ 1
    func next(_ bound: Int) -> Int {
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(random >> 33) % bound
    }
    let names = ["/", "/a", "/b", "/ab", "/chat", "/a-much-longer-name"]
    let namespaces = Namespaces()
    var model: [(name: [UInt8], channel: SocketIOChannel)] = []
    var due: [[UInt8]: Int] = [:]
    for _ in 0..<300 {
      switch next(3) {
      case 0:
        let channel = try channel(names[next(names.count)])
        let name = channel.namespace
        let isFree = !model.contains { $0.name == name } && due[name] == nil
        #expect(namespaces.hasRoom(for: name) == isFree)
        guard isFree else { continue }
        namespaces.add(channel)
        model.append((name, channel))
      case 1:
        guard !model.isEmpty else { continue }
        let (name, channel) = model.remove(at: next(model.count))
        let replyDue = next(4) == 0
        namespaces.remove(channel, replyDue: replyDue)
        if replyDue { due[name, default: 0] += 1 }
      default:
        let name = try channel(names[next(names.count)]).namespace
        #expect(namespaces.takeDueReply(name) == (due[name] != nil))
        due[name] = due[name].flatMap { $0 > 1 ? $0 - 1 : nil }
      }
      #expect(namespaces.channels.map(ObjectIdentifier.init) == model.map { ObjectIdentifier($0.channel) })
      for name in names {
        let name = try channel(name).namespace
        #expect(namespaces.channel(name) === model.first { $0.name == name }?.channel)
      }
    }
    #expect(namespaces.removeAll().count == model.count)
    #expect(namespaces.channels.isEmpty && namespaces.channel([]) == nil)
  }
}
