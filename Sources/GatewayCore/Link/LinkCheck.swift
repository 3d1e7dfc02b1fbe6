/// Whether a server of any kind could be dialled, judged before it is.
enum LinkCheck {
  /// Why it could not, as a sentence; nil when it could.
  static func problem(with specification: UpstreamSpecification) -> String? {
    let (url, settings) = (specification.url, specification.settings)
    guard !url.host.isEmpty else { return "the URL names no host" }
    let headers = settings.headers.map(\.name) + settings.headerSources.map(\.name)
    if url.userInfo != nil, headers.contains(where: { $0.lowercased() == "authorization" }) {
      return "the URL has a user name and the configuration an Authorization header: only one of them can be sent"
    }
    return nil
  }
}
