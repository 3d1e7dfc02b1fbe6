import Glibc

/// The entry that libFuzzer calls. `FUZZ_TARGET` names what is fuzzed; a broken property ends the program, so that
/// libFuzzer keeps the input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = Array(UnsafeBufferPointer(start: start, count: count))
  if let problem = chosenTarget.problem(with: input) { fatalError(problem) }
  return 0
}

private let chosenTarget: FuzzTarget = {
  let name = getenv("FUZZ_TARGET").map { String(cString: $0) } ?? ""
  guard let target = FuzzTarget(rawValue: name) else {
    let known = FuzzTarget.allCases.map(\.rawValue).joined(separator: ", ")
    fatalError("FUZZ_TARGET is '\(name)', but must be one of: \(known)")
  }
  return target
}()
