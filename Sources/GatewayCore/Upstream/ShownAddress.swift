/// What of an address people may see: in `status` and `outbox.list`, in the log, in a trace, in errors, and in the
/// environment of a command that prints credentials. The one place that decides it. User and password are never shown;
/// of a query only the names of its parameters, and only where something stands behind the `=`: a parameter without a
/// value may be a secret as a whole.
enum ShownAddress {
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

  /// A namespace: old servers take credentials as its query.
  static func namespace(_ namespace: String) -> String {
    guard let start = namespace.firstIndex(of: "?") else { return namespace }
    return namespace[...start] + mark
  }
}

extension UpstreamURL {
  /// As it is shown.
  var redacted: String {
    var text = "\(scheme)://\(bracketedHost)"
    if let port { text += ":\(port)" }
    text += path
    if let query { text += "?" + ShownAddress.query(query) }
    // Only a realm is worth being shown; elsewhere it means nothing and may be anything.
    if let fragment, scheme.hasPrefix("wamp") { text += "#" + fragment }
    return text
  }
}
