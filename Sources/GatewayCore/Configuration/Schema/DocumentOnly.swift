/// Something that only the documents need: `make documents` writes them with a build for debugging, and a build for release
/// carries nothing of it.
struct DocumentOnly<Value: Sendable>: Sendable {
  #if DEBUG
    let value: Value?

    init(_ value: @autoclosure () -> Value?) { self.value = value() }
  #else
    var value: Value? { nil }

    @inline(__always) init(_ value: @autoclosure () -> Value?) {}
  #endif
}
