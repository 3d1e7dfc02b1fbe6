import Testing

@testable import GatewayCore

private let now: Int64 = 1_795_000_000_000

private func origin(_ host: String = "h.example", _ path: String = "/socket.io/", secure: Bool = false) -> Cookie.Origin
{
  Cookie.Origin(host: host, path: path, isSecure: secure, now: now)
}

private func jar(_ headers: [String], _ origin: Cookie.Origin = origin()) -> CookieJar {
  var jar = CookieJar()
  jar.store(headers.map { HTTPHeader(name: "set-cookie", value: $0) }, from: origin)
  return jar
}

private func header(_ cookies: String..., at time: Int64 = now) -> String? {
  jar(cookies).header(path: "/socket.io/", now: time)
}

@Test func namesAndValuesGoBackAsTheyCame() {
  #expect(header("io=abc; Path=/; HttpOnly; SameSite=Strict") == "io=abc")
  #expect(header("a=b=c") == "a=b=c")
  #expect(header(#"q="quo ted" ; path=/"#) == #"q="quo ted""#)
  #expect(header(" sp = x ") == "sp=x")
  #expect(header("e=") == "e=")
  #expect(header("a=1", "b=2", "a=3") == "a=3; b=2", "a new value keeps the place of the old one")
  #expect(header("noequals", "=x", "", "a\u{1}=b") == nil)
}

@Test func expiredCookiesAreDropped() {
  #expect(header("a=1; Max-Age=0") == nil)
  #expect(header("a=1; Max-Age=-5") == nil)
  #expect(header("a=1", "a=; Max-Age=0") == nil)
  #expect(header("a=1; Max-Age=10", at: now + 9_999) == "a=1")
  #expect(header("a=1; Max-Age=10", at: now + 10_000) == nil)
  #expect(header("a=1; Max-Age=99999999999999999999") == "a=1")
  #expect(header("a=1; Max-Age=soon") == "a=1")
  #expect(header("a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT") == nil)
  #expect(header("a=1; Expires=Thu, 01 Jan 2099 00:00:00 GMT") == "a=1")
  #expect(header("a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=5") == "a=1", "Max-Age comes first")
}

@Test func cookiesKeepToTheirPathHostAndTLS() {
  #expect(header("a=1; Path=/other") == nil)
  #expect(header("a=1; Path=/socket") == nil)
  #expect(header("a=1; Path=/socket.io") == "a=1")
  #expect(header("a=1; Path=relative") == "a=1")
  #expect(header("short=1; Path=/", "long=1; Path=/socket.io/") == "long=1; short=1")
  #expect(header("a=1; Domain=h.example") == "a=1")
  #expect(header("a=1; Domain=.example") == "a=1")
  #expect(header("a=1; Domain=other.example") == nil)
  #expect(header("a=1; Domain=xample") == nil)
  #expect(header("a=1; Secure") == nil)
  #expect(jar(["a=1; Secure"], origin(secure: true)).header(path: "/socket.io/", now: now) == "a=1")
}

@Test func jarIsBoundedAndSecret() {
  let many = jar((0..<100).map { "c\($0)=x" })
  #expect(many.header(path: "/socket.io/", now: now)?.split(separator: ";").count == CookieJar.countLimit)
  #expect(many.header(path: "/socket.io/", now: now)?.hasSuffix("c99=x") == true, "the oldest are forgotten")
  #expect(header("a=" + String(repeating: "x", count: Cookie.sizeLimit)) == nil)
  let large = jar((0..<10).map { "c\($0)=" + String(repeating: "x", count: 4_000) })
  #expect((large.header(path: "/socket.io/", now: now)?.utf8.count ?? 0) < CookieJar.sizeLimit + 100)
  #expect("\(jar(["io=secret"]))" == "1 cookies")
  #expect(!String(reflecting: Mirror(reflecting: jar(["io=secret"])).children.map { "\($0)" }).contains("secret"))
}

@Test func datesOfEveryFormAreRead() {
  let rows: [(String, Int64?)] = [
    ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
    ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
    ("Sun Nov  6 08:49:37 1994", 784_111_777),
    ("Sun, 06-Nov-1994 08:49:37 GMT", 784_111_777),
    ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
    ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
    ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
    ("Thu, 29 Feb 2023 12:00:00 GMT", nil), ("32 Jan 2020 00:00:00", nil), ("1 Jan 2020 24:00:00", nil),
    ("1 Jan 2020", nil), ("Jan 2020 00:00:00", nil), ("1 Jan 1600 00:00:00", nil), ("", nil), ("120", nil),
    (String(repeating: " ", count: 200) + "Sun, 06 Nov 1994 08:49:37 GMT", nil),
  ]
  for (text, expected) in rows { #expect(HTTPDate.seconds(text) == expected, "\(text)") }
}
