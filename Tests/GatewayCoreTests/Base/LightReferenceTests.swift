import Testing

@testable import GatewayCore

@Suite struct LightReferenceTests {
  private final class Thing {
    let reference = LightReference<Thing>()

    init() { reference.begin(self) }
    deinit { reference.end() }
  }

  @Test func findsItsObjectAndDoesNotKeepIt() {
    var thing: Thing? = Thing()
    let reference = thing!.reference
    #expect(reference.object === thing)
    thing = nil
    #expect(reference.object == nil)
  }

  @Test func whatWasFoundStaysWhileItIsUsed() {
    var thing: Thing? = Thing()
    let reference = thing!.reference
    let found = reference.object
    thing = nil
    #expect(found != nil && reference.object === found)
  }
}
