/// Calls as lines for the next daemon, which reads them as it reads those of clients.
enum HandoverCall {
  /// `id`: nil for a call that is answered already, and is made again for what came of it.
  static func line(
    _ method: LocalMethod, _ id: RequestID?, on target: CallTarget, _ params: (inout JSONWriter) -> Void
  ) -> [UInt8] {
    var out = JSONWriter()
    out.object {
      $0.member("jsonrpc", "2.0")
      if let id, !id.isAnswered {
        $0.key("id")
        id.write(into: &$0)
      }
      $0.member("method", method.name)
      $0.key("params")
      $0.object { inner in
        target.write(into: &inner)
        params(&inner)
      }
    }
    return out.bytes
  }
}

extension CallTarget {
  fileprivate func write(into out: inout JSONWriter) {
    switch name {
    case .upstream(let name): out.param(.upstream, name)
    case .url(let url): out.param(.url, url)
    }
    if let namespace { out.param(.namespace, namespace) }
    if let auth {
      out.key(ParameterName.auth.text)
      out.raw(auth)
    }
    if let options {
      out.key(ParameterName.options.text)
      out.raw(options.text)
    }
  }
}

extension JSONWriter {
  /// A param of a call.
  fileprivate mutating func param(_ name: ParameterName, _ value: String) { member(name.text, value) }

  /// The same; one that is nil is left out.
  fileprivate mutating func param(_ name: ParameterName, _ value: Int?) {
    if let value { member(name.text, value) }
  }

  /// The same; one that is false is left out.
  fileprivate mutating func param(_ name: ParameterName, _ value: Bool) {
    guard value else { return }
    key(name.text)
    bool(true)
  }

  /// The same; no messages are left out.
  fileprivate mutating func param(_ name: ParameterName, _ requests: [EnterRequest?]) {
    guard !requests.isEmpty else { return }
    key(name.text)
    beginArray()
    for request in requests {
      guard let request else {
        null()
        continue
      }
      object {
        $0.member("event", request.message.event.text)
        $0.key("args")
        $0.raw(request.message.args)
        if let kwargs = request.message.kwargs {
          $0.key("kwargs")
          $0.raw(kwargs)
        }
        if request.wantsAck {
          $0.key("ack")
          $0.bool(true)
        }
      }
    }
    endArray()
  }

  fileprivate mutating func param(_ point: ResumePoint) {
    switch point {
    case .last(let count): param(.last, count)
    case .since(let epoch, let sequence):
      key(ParameterName.since.text)
      object {
        $0.member("epoch", epoch)
        $0.member("seq", sequence)
      }
    }
  }
}

extension LocalRequest {
  /// Goes on with what the daemon before knew of the call beside its line.
  mutating func takeUp(_ continuation: CallContinuation) {
    guard var subscribe = call as? SubscribeCall else { return }
    subscribe.withheld = continuation.withheld
    call = subscribe
  }
}

extension SubscribeCall {
  /// For the next daemon. `id`: nil if it is answered already.
  func continuation(_ id: RequestID?) -> CallContinuation {
    CallContinuation(line: line(id), withheld: withheld)
  }

  /// As a line. `id`: nil if it is answered already.
  func line(_ id: RequestID?) -> [UInt8] {
    HandoverCall.line(Self.method, id, on: target) { out in
      if let events {
        out.key(ParameterName.events.text)
        out.beginArray()
        for event in events { out.string(event) }
        out.endArray()
      }
      if let resume { out.param(resume) }
      out.param(.strict, strict)
      out.param(.state, options.state)
      out.param(.answer, options.answer)
      out.param(.queue, options.queue)
      out.param(.onSlow, options.onSlow.rawValue)
      out.param(.credit, options.credit)
      if let subscription { out.param(.subscription, subscription) }
      out.param(.enter, enters.map(\.enter))
      if enters.contains(where: { $0.leave != nil }) { out.param(.leave, enters.map(\.leave)) }
    }
  }
}

extension WaitCall {
  /// As a line.
  func line(_ id: RequestID?) -> [UInt8] {
    HandoverCall.line(Self.method, id, on: target) { out in
      out.param(.state, state.rawValue)
      out.param(.timeout, Int(timeout.milliseconds))
    }
  }
}

extension Trace {
  /// The call that began it, as a line.
  func line() -> [UInt8] {
    HandoverCall.line(TraceCall.method, nil, on: target) { $0.param(.payloads, wantsPayloads) }
  }
}
