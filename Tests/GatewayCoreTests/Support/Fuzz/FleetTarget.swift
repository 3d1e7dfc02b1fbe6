@testable import GatewayCore

/// What other hosts of a fleet have left in its Redis. Whatever it is, what is understood of it is understood in the same way
/// when this host writes it.
enum FleetTarget {
  static func problem(with input: [UInt8]) -> String? {
    if let row = FleetBoxRow(input), FleetBoxRow(row.bytes) != row { return "a row of a box becomes another one" }
    _ = FleetHostRow(input)
    _ = FleetPosition(input.span.bytes)
    guard let fields = FleetFields(packed: input) else { return nil }
    guard FleetFields(packed: fields.packed) == fields else { return "fields become others" }
    if let entry = FleetUpEntry(fields), FleetUpEntry(entry.fields) != entry { return "a call becomes another one" }
    if let reply = FleetReplyEntry(fields), FleetReplyEntry(reply.fields) != reply {
      return "a reply becomes another one"
    }
    if let entry = FleetEntry(fields), FleetEntry(entry.fields) != entry { return "an event becomes another one" }
    if let details = FleetHostDetails(fields), FleetHostDetails(details.fields) != details {
      return "what a host says of itself becomes something else"
    }
    _ = FleetLeaseRecord(Dictionary(fields.all.map { ($0.name, $0.value) }) { $1 })
    return sendProblem(fields)
  }

  private static func sendProblem(_ fields: FleetFields) -> String? {
    let place = FleetPlace(fleet: "f", upstream: "u")
    guard let send = FleetSend(name: "host/id", fields, place: place) else { return nil }
    let again = FleetSend(name: "host/id", send.entry.row, place: place)
    return again == send ? nil : "a durable send becomes another one"
  }
}
