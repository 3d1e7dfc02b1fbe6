/// The sender of a call: a host that lives, or the fleet or the holder for one that does not.
enum FleetSender: Equatable {
  /// A host that lives, with the number of the call in the host's life and, of a durable send, its row.
  case host(String, life: UInt64, number: UInt64, row: String?)
  /// The fleet, for a host that died: a durable send, by its id.
  case adopted(String)
  /// A host whose life is over, of which something is undone.
  case gone(String)
  /// The holder's own.
  case holder

  /// The life of the host; nil for the fleet's.
  var life: UInt64? { if case .host(_, let life, _, _) = self { life } else { nil } }

  /// The name that the fleet's row of a durable send would have if its host died; nil of what no host that lives has said.
  var rowName: String? {
    if case .host(let host, _, _, let row?) = self { FleetSend.name(of: row, from: host) } else { nil }
  }

  /// The id of a durable send, which is the same whoever says it: a host may have another name by now.
  var sendID: String? {
    switch self {
    case .adopted(let id): id
    case .host(_, _, _, let row): row
    case .gone, .holder: nil
    }
  }

  /// The host that holds what is taken back; nil for the fleet and the holder.
  var hostName: String? {
    switch self {
    case .host(let host, _, _, _), .gone(let host): host
    case .adopted, .holder: nil
    }
  }
}
