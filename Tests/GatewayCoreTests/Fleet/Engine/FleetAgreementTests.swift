import Testing

@testable import GatewayCore

@Suite struct FleetAgreementTests {
  private func agreement(
    _ path: String = "/", query: String? = nil, parser: ParserName = .json, header: String = "x"
  ) -> FleetAgreement {
    var settings = UpstreamSettings()
    settings.parser = parser
    settings.headers = [HTTPHeader(name: "Authorization", value: header)]
    let url = UpstreamURL(scheme: "http", host: "chat.example", path: path, query: query)
    return FleetAgreement(
      UpstreamSpecification(name: "chat", url: url, namespace: "/", settings: settings, owner: nil), kind: "socketio",
      lease: .seconds(3), adopt: .seconds(30))
  }

  private func settings(_ agreement: FleetAgreement) -> FleetSettings {
    var settings = FleetSettings(place: FleetPlace(fleet: "f", upstream: "chat"), host: "edge-3")
    settings.agreement = agreement
    return settings
  }

  private func record(_ rows: [String: String]) -> FleetLeaseRecord {
    FleetLeaseRecord(rows.mapValues { Array($0.utf8) })
  }

  @Test func itTravelsAsText() {
    let agreement = agreement()
    #expect(FleetAgreement(agreement.text) == agreement)
    #expect(agreement.digests.keys.sorted() == ["fleet.adopt", "fleet.lease", "kind", "namespace", "parser", "url"])
  }

  @Test func whatDiffersIsNamed() {
    #expect(agreement().differences(from: agreement("/other", parser: .msgpack)) == ["parser", "url"])
    #expect(agreement().differences(from: agreement()) == [])
    // What another version does not compare is no difference.
    #expect(agreement().differences(from: FleetAgreement("parser=x")) == ["parser"])
    #expect(agreement().differences(from: FleetAgreement()) == [])
  }

  @Test func secretsDoNotCount() {
    #expect(agreement(query: "token=a") == agreement(query: "token=b"))
    #expect(agreement(header: "a") == agreement(header: "b"))
  }

  @Test func aHostWithOtherSettingsIsToldWhich() {
    let here = settings(agreement())
    #expect(here.objection(to: record([:])) == nil)
    #expect(here.objection(to: record(["config": agreement().text])) == nil)
    let failure = here.objection(to: record(["config": agreement("/other").text]))
    #expect(failure?.reason == .fleet)
    #expect(failure?.detail.hasPrefix("edge-3 and the fleet disagree about upstream.chat.url; ") == true)
  }

  @Test func aHostThatCannotSpeakTheFleetsVersionIsIncompatible() {
    var here = settings(agreement())
    here.versions = 2...3
    for version in ["2", "3"] { #expect(here.objection(to: record(["v": version])) == nil) }
    for version in ["1", "4"] { #expect(here.objection(to: record(["v": version]))?.reason == .incompatible) }
    #expect(
      here.objection(to: record(["v": "4"]))?.detail.contains("version 4 of its protocol, and edge-3 speaks 2 to 3")
        == true)
  }
}
