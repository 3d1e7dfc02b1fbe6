/// What of an address people may see: in `status` and `outbox.list`, in the log, in a trace, in errors, and in the
/// environment of a command that prints credentials. The one place that decides it. User and password are never shown;
/// of a query only the names of its parameters, and only where something stands behind the `=`: a parameter without a
/// value may be a secret as a whole.
public enum ShownAddress {
  /// What stands in the place of what is not shown.
  static let mark = "***"

  /// A query without its `?`. `open` are the parameters that are shown with their values.
  static func query(_ query: some StringProtocol, open: Set<String> = []) -> String {
    let parameters = query.split(separator: "&", omittingEmptySubsequences: true).map { parameter in
      guard let equals = parameter.firstIndex(of: "=") else {
        return open.contains(String(parameter)) ? String(parameter) : mark
      }
      if open.contains(String(parameter[..<equals])) { return String(parameter) }
      // Base64 ends with such signs, too.
      let hasValue = parameter[equals...].contains { $0 != "=" }
      return hasValue && equals > parameter.startIndex ? parameter[..<equals] + "=" + mark : mark
    }
    return parameters.joined(separator: "&")
  }

  /// The path and the query of a request.
  static func target(_ target: String, open: Set<String> = []) -> String {
    guard let start = target.firstIndex(of: "?") else { return target }
    return target[...start] + query(target[target.index(after: start)...], open: open)
  }

  /// A word that a person typed, and that may be a URL: only a URL contains `://`. Nothing has read it, and of one that
  /// cannot be read nothing is shown where its parts may be others than they look.
  public static func word(_ word: String) -> String {
    guard let separator = word.firstRange(ofText: "://") else { return word }
    let scheme = word[..<separator.lowerBound]
    let rest = word[separator.upperBound...]
    let (place, behind) = rest.parts(before: "/?#")
    let host = place.utf8.lastIndex(of: UInt8(ascii: "@")).map { place[place.utf8.index(after: $0)...] } ?? place
    guard isScheme(scheme), isHost(host) else { return mark }
    let (address, fragment) = behind.parts(before: "#")
    let (path, query) = address.parts(before: "?")
    var shown = "\(scheme)://\(host)\(path)"
    if !query.isEmpty { shown += "?" + Self.query(query[query.utf8.index(after: query.startIndex)...]) }
    if showsFragment(scheme.lowercased()) { shown += fragment }
    return shown
  }

  /// Only a realm is worth being shown; elsewhere a fragment means nothing and may be anything.
  static func showsFragment(_ scheme: String) -> Bool { scheme.hasPrefix("wamp") }

  private static func isScheme(_ text: Substring) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { $0.isASCIILetterOrDigit || "+-.".utf8.contains($0) }
  }

  /// Whether behind its colon stands a port. Otherwise it may be a password, with a `/`, `?` or `#` in it.
  private static func isHost(_ text: Substring) -> Bool {
    let name = text.utf8.firstIndex(of: UInt8(ascii: "]")) ?? text.startIndex
    let port = text.utf8[name...].drop { $0 != UInt8(ascii: ":") }.dropFirst()
    return port.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }

  /// A namespace: old servers take credentials as its query.
  static func namespace(_ namespace: String) -> String {
    let (name, query) = namespace.parts(before: "?")
    return query.isEmpty ? namespace : "\(name)?\(mark)"
  }
}

extension UpstreamURL {
  /// As it is shown.
  var redacted: String {
    var text = "\(scheme)://\(bracketedHost)"
    if let port { text += ":\(port)" }
    text += path
    if let query { text += "?" + ShownAddress.query(query) }
    if let fragment, ShownAddress.showsFragment(scheme) { text += "#" + fragment }
    return text
  }
}
