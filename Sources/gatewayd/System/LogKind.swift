import GatewayCore

/// The classes of log records. Each has one message, one level and one identifier, by which `journalctl` finds and
/// explains all records of the class.
enum LogKind: CaseIterable, Hashable, Sendable {
  case started, stopping, sendsKept
  case connectionUp, connectionDown, connectionAttempt, connectionReleased
  case clientAttached, clientDetached, clientDropped, quotaExceeded, sendFailed, interestRefused
  case configurationReloaded, configurationRefused, configurationWarning, restartNeeded, reloadIgnored
  case secretIsPublic
  case outboxUnavailable, outboxRepaired, outboxFailing, outboxWorking, outboxUntidy, outboxTidy
  case historyFailing, historyWorking, historySetAside
  case fleetReached, fleetEndangered, fleetMissed, fleetRefused, fleetAccepted, fleetRemoved, fleetUnkept, fleetTook
  case fleetGaveUp, fleetLeaveOrdered, fleetLeaveFailed, fleetLeft, fleetReturned
  case networkUnwatched, suspendUnwatched, socketIgnored, descriptorsExhausted, acceptFailed, internalError
  case metricsUnavailable
  case clientsHandedOver, clientsTakenOver, handoverFailed
  case fleetNameTaken, fleetNameRegained

  var message: String {
    switch self {
    case .started: "started"
    case .stopping: "stopping"
    case .sendsKept: "unfinished sends are kept in the outbox"
    case .connectionUp: "connected"
    case .connectionDown: "connection down"
    case .connectionAttempt: "connecting"
    case .connectionReleased: "connection released"
    case .clientAttached: "client attached"
    case .clientDetached: "client left"
    case .clientDropped: "client disconnected"
    case .quotaExceeded: "quota exceeded"
    case .sendFailed: "send not delivered"
    case .interestRefused: "the server refuses a subscription"
    case .configurationReloaded: "configuration reloaded"
    case .configurationRefused: "configuration refused, the old one stays in force"
    case .configurationWarning: "configuration"
    case .restartNeeded: "some changes of the configuration wait for a restart"
    case .reloadIgnored: "configuration not read again, the daemon takes nothing new until it is started again"
    case .outboxUnavailable: "no outbox: durable sends fail"
    case .outboxRepaired: "set a damaged outbox aside"
    case .outboxFailing: "the outbox cannot write: durable sends fail"
    case .outboxWorking: "the outbox writes again"
    case .outboxUntidy: "the outbox works, but its file cannot be tidied up"
    case .outboxTidy: "the outbox's file is tidied up again"
    case .historyFailing: "cannot keep a history on disk, the events flow on"
    case .historyWorking: "the history is on disk again"
    case .historySetAside: "set a history aside that is not used any more"
    case .fleetReached: "reached the Redis of the fleet"
    case .fleetEndangered: "the Redis of the fleet may forget what it has to keep"
    case .fleetMissed: "no Redis of the fleet can be used"
    case .fleetRefused: "the Redis of the fleet refuses what an upstream needs"
    case .fleetAccepted: "the Redis of the fleet refuses an upstream nothing any more"
    case .fleetRemoved: "removed rows from the Redis of the fleet that are no sends, and that nobody could write"
    case .fleetUnkept: "durable sends of this host are in the Redis of the fleet, and it cannot keep them"
    case .fleetTook: "has the link of an upstream for its fleet"
    case .fleetGaveUp: "gave up the link of an upstream that its fleet shares"
    case .fleetLeaveOrdered: "a client has this host leave its fleet's links to others"
    case .fleetLeaveFailed: "has not left its fleet's links to others"
    case .fleetLeft: "has left its fleet's links to others, and takes none"
    case .fleetReturned: "takes links of its fleet again"
    case .secretIsPublic: "everybody on this machine can read a file with credentials"
    case .networkUnwatched: "cannot watch the network, every upstream counts as reachable"
    case .suspendUnwatched: "cannot notice that the machine slept, the heartbeat alone finds what died meanwhile"
    case .socketIgnored: "ignored a socket that systemd passed"
    case .descriptorsExhausted: "no file descriptor left for a new client"
    case .acceptFailed: "cannot accept clients for the moment"
    case .internalError: "internal error"
    case .metricsUnavailable: "cannot offer metrics, everything else works"
    case .clientsHandedOver: "left the clients to the next daemon"
    case .clientsTakenOver: "goes on with the clients of the daemon before"
    case .handoverFailed: "clients cannot be handed over: they are told to come again"
    case .fleetNameTaken: "two daemons of the fleet have one name, this one takes another"
    case .fleetNameRegained: "has its own name in the fleet again"
    }
  }

  /// Level of a record that names none.
  var level: LogLevel {
    switch self {
    case .configurationRefused, .outboxFailing, .historyFailing, .descriptorsExhausted, .acceptFailed, .internalError,
      .metricsUnavailable:
      .error
    case .outboxUnavailable, .outboxRepaired, .outboxUntidy, .historySetAside, .connectionDown, .clientDropped,
      .quotaExceeded,
      .sendFailed, .interestRefused,
      .configurationWarning, .restartNeeded, .reloadIgnored, .secretIsPublic, .socketIgnored, .networkUnwatched,
      .suspendUnwatched, .handoverFailed, .fleetNameTaken, .fleetEndangered, .fleetMissed, .fleetRefused,
      .fleetRemoved, .fleetUnkept, .fleetLeaveFailed:
      .warning
    case .started, .stopping, .sendsKept, .configurationReloaded, .outboxWorking, .outboxTidy, .historyWorking,
      .clientsHandedOver, .clientsTakenOver, .fleetReached, .fleetAccepted, .fleetTook, .fleetGaveUp,
      .fleetNameRegained, .fleetLeaveOrdered, .fleetLeft, .fleetReturned:
      .notice
    case .connectionUp: .info
    case .connectionAttempt, .connectionReleased, .clientAttached, .clientDetached: .debug
    }
  }

  /// `MESSAGE_ID=`: 128 bits in hexadecimal that never change once released.
  var identifier: String {
    switch self {
    case .started: "110a38b3b8e644d5a4428a16a4595f55"
    case .stopping: "08d02d3ba5634157a6ca282f429c1ffc"
    case .sendsKept: "a2c86f0d3b914e57b06df4e91a7c5283"
    case .connectionUp: "70323c2b4dd840eca3ae5b8a06890038"
    case .connectionDown: "8f06a621e4d5462bbd166d554b776a39"
    case .connectionAttempt: "2d59442ceff74a2daf9bf1d71a855749"
    case .connectionReleased: "dbee48bde7f04469bc564f32a4c4d5d1"
    case .clientAttached: "c1cc05b26e364f6fa02be7a7f75fe8c8"
    case .clientDetached: "1ee36c62a00e4c0fa162c82bdce9797e"
    case .clientDropped: "3d0a0321db14450c8a30be61f5e33801"
    case .quotaExceeded: "76545f19dc72468d8fb8b73ba0f80d8d"
    case .sendFailed: "f6b79991351d4913b819c99b9680cafd"
    case .interestRefused: "7c41e8d29b0f4a6e8d35f1a07b92c64d"
    case .configurationReloaded: "ba6a789f0f1e4b8aa55e73c25cddb80c"
    case .configurationRefused: "4d3d72159eb747339aab0681ed612aec"
    case .configurationWarning: "f9b90dd28fcd46399ff8cb56e0554b5a"
    case .restartNeeded: "9d41d3923c64414a95004ccc6049f933"
    case .reloadIgnored: "a35af824bf9f4d5fa611edbe84259625"
    case .outboxUnavailable: "04594169b70544e69f859f72b36732af"
    case .outboxRepaired: "178dc1a3e2c84150b8e5239834d1b9e6"
    case .outboxFailing: "2bde9d3997fe412d810ac53c1561248c"
    case .outboxWorking: "bdf0e79b490a4d4999b459be1f844dfe"
    case .outboxUntidy: "7a0e4c5bd1f24f7f93c86b1e2d95a07c"
    case .outboxTidy: "c49d27e6018b4be5a3f7d06c5e81b92f"
    case .historyFailing: "3c7d52f0a81e4b6c9d05e7f21a64b893"
    case .historyWorking: "b1f6e09c47d24a58825cd3719e0fa46b"
    case .historySetAside: "84e2a7bd196f4c03ae517f90c6d2b835"
    case .fleetReached: "6a1f0c58d3b94e27a8c4715e90bd2f63"
    case .fleetEndangered: "f27b8e41c0634d9da5128b6c7e03f9d4"
    case .fleetMissed: "0d94c3e7b25f4a16983d7fe1a64c5b28"
    case .fleetRefused: "93e5d7026fb84c1ab71c40d8e25a6f39"
    case .fleetAccepted: "c8402b6d19e7453fb0d5a97f3e81c6a2"
    case .fleetRemoved: "9465a044d31844faa21747197255cb3d"
    case .fleetUnkept: "a96444b01a404a0d8c3e00640b984c4a"
    case .fleetTook: "b37d0e4c96a1482f8e5c2179d04f6ba8"
    case .fleetGaveUp: "41c8f6a20d7b4e93a6f5b80c3e92d715"
    case .fleetLeaveOrdered: "e72d5b0f4c8147a39b61d8f0a35c2e94"
    case .fleetLeaveFailed: "1b90c4e6a2d74f58863f07e5d9b1ac42"
    case .fleetLeft: "8f4ae1375d0c4b26a97b52c8e60d39f1"
    case .fleetReturned: "d05b83f9e17a4c64b2e80a6c94f7315d"
    case .secretIsPublic: "e0b9c1d2f7a84f0c9d5e3a6b8c714f29"
    case .networkUnwatched: "5d0c8e1f7a1b4b0d9a3f2c6e84d17b52"
    case .suspendUnwatched: "e5d1f0b27c3a4d6f8a94b7c1d2e35f60"
    case .socketIgnored: "56b4136c5d3944dbb2f3feb8076bdb18"
    case .descriptorsExhausted: "18dff9994724415e90214e37c847356e"
    case .acceptFailed: "205a24a0b051465d8a85cdce41d5c7a6"
    case .internalError: "a629c7ff59574099a50a19fe2037d44c"
    case .metricsUnavailable: "5b1ee2d90c7e4a3fb6f08d41c29a7e36"
    case .clientsHandedOver: "0f2b7c61d9e84a35b8d37a90e46c1f52"
    case .clientsTakenOver: "a83d51e7042c4f96bb15c8e0d72f6934"
    case .handoverFailed: "d61c9f3e87b54e02a4f0836b5d2e97c1"
    case .fleetNameTaken: "9e4b07c2d35f4a68b1c7e03f8a2d6b54"
    case .fleetNameRegained: "52f1c9d80ab7463e9d6c14e7b83fa075"
    }
  }
}
