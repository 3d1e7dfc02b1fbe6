/// Told what an `EngineIOSocket` does, for a trace. Messages are not among it: they are packets of the layer above. Spans are
/// valid only during the call.
protocol EngineIOObserver: AnyObject {
  func dialled(_ request: DialRequest)
  func opened(_ facts: TransportFacts)
  /// A packet of the session itself; `text` is the whole of it.
  func received(_ packet: EngineIOPacket, _ text: RawSpan)
  /// A packet of the session itself, type included.
  func sent(_ packet: [UInt8])
  func closed(_ failure: UpstreamFailure)
}
