/// What the doctor needs of the outside.
public struct DoctorSeams {
  var route: any RouteProbe
  var requester: any HTTPRequester
  var dialer: any TransportDialer
  /// For headers and query parameters that are not in the configuration itself.
  var credentials: any CredentialReader
  /// Kinds of its own, whose links no connection shares.
  var makeKinds: () -> UpstreamKindSet

  public init(
    route: any RouteProbe, requester: any HTTPRequester, dialer: any TransportDialer,
    credentials: any CredentialReader, makeKinds: @escaping () -> UpstreamKindSet
  ) {
    self.route = route
    self.requester = requester
    self.dialer = dialer
    self.credentials = credentials
    self.makeKinds = makeKinds
  }
}

/// Finds out how far the way to a server is open, without a request.
public protocol RouteProbe: AnyObject {
  /// Makes a connection up to TCP, or with `request.secure` up to TLS, and closes it. `done` is called exactly once,
  /// later, unless the probe is cancelled before.
  func probe(_ request: DialRequest, _ done: @escaping (RouteReport) -> Void) -> any HTTPExchange
}

/// How far a way is open.
public struct RouteReport: Equatable, Sendable {
  /// What a way leads through.
  public enum Phase: Equatable, Sendable {
    case name, tcp, proxy, tls
  }

  /// Where and why a way ends.
  public struct End: Equatable, Sendable {
    var phase: Phase
    var failure: UpstreamFailure

    public init(_ phase: Phase, _ failure: UpstreamFailure) {
      self.phase = phase
      self.failure = failure
    }
  }

  /// The address that was connected to; of the proxy, if there is one. Empty before there was one.
  var address: String
  /// Host and port of the proxy; nil without one.
  var proxy: String?
  /// Such as `TLSv1.3`; nil without TLS.
  var tlsVersion: String?
  /// The server's certificate and those it sent with it; empty without TLS.
  var certificates: [CertificateFacts]
  /// Nil for a way that is open.
  var end: End?

  public init(
    address: String, proxy: String? = nil, tlsVersion: String? = nil, certificates: [CertificateFacts] = [],
    end: End? = nil
  ) {
    self.address = address
    self.proxy = proxy
    self.tlsVersion = tlsVersion
    self.certificates = certificates
    self.end = end
  }
}

/// One certificate, in the words of the TLS library.
public struct CertificateFacts: Equatable, Sendable {
  var subject: String
  var issuer: String
  /// Such as `Nov 21 13:00:00 2027 GMT`.
  var expires: String

  public init(subject: String, issuer: String, expires: String) {
    self.subject = subject
    self.issuer = issuer
    self.expires = expires
  }

  /// Milliseconds since 1970 at which it expires; nil if the text is no date.
  var expiry: Int64? {
    let words = expires.split(separator: " ")
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    guard words.count >= 4, let month = months.firstIndex(of: String(words[0])), let day = Int64(words[1]),
      (1...31).contains(day), let year = Int64(words[3]), (1970...9999).contains(year)
    else { return nil }
    let clock = words[2].split(separator: ":").compactMap { Int64($0) }
    guard clock.count == 3, clock.allSatisfy({ (0...60).contains($0) }) else { return nil }
    let seconds = Self.days(year, Int64(month) + 1, day) * 86_400 + clock[0] * 3_600 + clock[1] * 60 + clock[2]
    return seconds * 1_000
  }

  /// Days since 1970 in the Gregorian calendar, counted in years that begin with March.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
  }
}
