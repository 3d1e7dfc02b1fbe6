/// The one table of methods. Checking a call, naming what is wrong with it, the rights and `rpc.discover` all read it.
enum MethodTable {
  private static let calls: [any LocalCall.Type] = [
    HelloCall.self, PingCall.self, StatusCall.self, StatsCall.self, MetricsCall.self, ClientsListCall.self,
    UpstreamsListCall.self,
    ClientsKickCall.self, AccessExplainCall.self, ReloadCall.self, DiscoverCall.self, CancelCall.self,
    SubscribeCall.self, HistoryCall.self, UnsubscribeCall.self, CreditCall.self,
    SendCall.self, RequestCall.self, RespondCall.self,
    OutboxListCall.self, OutboxCancelCall.self, OutboxRetryCall.self, OutboxPurgeCall.self, DrainCall.self,
    WaitCall.self, ReconnectCall.self, DisconnectCall.self, ReleaseCall.self,
    FleetListCall.self, FleetMoveCall.self, FleetLeaveCall.self, FleetForgetCall.self,
    DoctorCall.self, TraceCall.self, UntraceCall.self,
  ]

  static let methods = calls.map { $0.method }

  private static let index = NameIndex(methods.map(\.name))

  /// The method whose name a scanned string means, and how a call of it is read; the range includes its quotes.
  @inline(__always)
  static func find(_ line: RawSpan, _ name: Range<Int>) -> (method: LocalMethod, call: any LocalCall.Type)? {
    index.find(line, name).map { (methods[$0], calls[$0]) }
  }
}
