import Testing

@testable import gatewayd

/// What is wrong with upstreams.
struct ConfigurationUpstreamTests {
  static let addresses = [
    BrokenConfiguration("[upstream.a]\nkeep = \"always\"", "g.toml:1: upstream.a has no url"),
    BrokenConfiguration("[upstream]\na = 1", "g.toml:2: upstream.a must be a table, [upstream.NAME], not an integer"),
    BrokenConfiguration("upstream = [1]", "g.toml:1: upstream must be a table, not an array"),
    BrokenConfiguration("[upstream.a]\nurl = 1", "g.toml:2: upstream.a.url must be a URL, not an integer"),
    BrokenConfiguration(
      "[upstream.a]\nurl = \"chat\"",
      "g.toml:2: upstream.a.url cannot be used: the URL has no scheme; write for example https://chat"),
    BrokenConfiguration(
      "[upstream.a]\nurl = \"ftp://h\"",
      #"g.toml:2: upstream.a.url has the scheme "ftp", but must have one of http, https, ws, wss"#),
    BrokenConfiguration(
      "[upstream.a]\nurl = \"http://\"",
      "g.toml:2: upstream.a.url cannot be used: the URL names no host; write for example https://example.org"),
    BrokenConfiguration(
      "[upstream.a]\nurl = \"http://h/#x\"",
      "g.toml:2: upstream.a.url must not have a fragment, the part behind #"),
    BrokenConfiguration(
      "[upstream.a]\nurl = \"http://h/a,b\"",
      "g.toml:2: upstream.a.url must not have a comma in its path, which is the namespace"),
    BrokenConfiguration(
      "[upstream.a]\nurl = \"http://h/?v=1&EIO=3\"",
      #"g.toml:2: upstream.a.url must not have the query parameter "EIO", which the connection itself sets"#),
    BrokenConfiguration(
      "[upstream.\"a b\"]\nurl = \"http://h\"",
      #"g.toml:1: the name "a b" of an upstream must be 1 to 64 letters of A-Z a-z 0-9 . _ -"#),
    BrokenConfiguration(
      "[upstream.\(String(repeating: "x", count: 65))]\nurl = \"http://h\"",
      "g.toml:1: the name \"\(String(repeating: "x", count: 65))\" of an upstream must be 1 to 64 letters of A-Z a-z 0-9 . _ -"
    ),
    BrokenConfiguration(
      "[upstream.a]\nurl = \"http://h\"\npath = \"socket.io\"",
      #"g.toml:3: upstream.a.path must be the path of a request such as "/socket.io/", not "socket.io""#),
    BrokenConfiguration(
      "[upstream.a]\nurl = \"http://h\"\npath = \"/x?y\"",
      #"g.toml:3: upstream.a.path must be the path of a request such as "/socket.io/", not "/x?y""#),
  ]

  static let requests = [
    broken("headers = { Host = \"x\" }", "headers.Host is a header that the connection itself sets"),
    broken(
      "headers = { sec-WebSocket-Key = \"x\" }", "headers.sec-WebSocket-Key is a header that the connection itself sets"
    ),
    broken("headers = { \"X Y\" = \"x\" }", "headers.X Y is not the name of a header"),
    broken("headers = { X = 1 }", "headers.X must be a string, not an integer"),
    broken(
      "headers = { X = \"a\\r\\nY: b\" }",
      "headers.X must not hold a line break or another control character"),
    broken(
      "headers = { X = \"a\", x = \"b\" }", "headers.x is a header that stands here already in other letters"),
    broken("headers = [\"X: y\"]", "headers must be a table of headers, not an array"),
    broken("query = { sid = \"1\" }", "query.sid is a parameter that the connection itself sets"),
    broken("query = { v = 2 }", "query.v must be a string, not an integer"),
    broken("query = { \"\" = \"2\" }", "query must not have a parameter without a name"),
    broken("upgrade = 1", "upgrade must be true or false, not an integer"),
    broken("transports = []", #"transports must be a list of "websocket", "polling", not an empty one"#),
    broken("transports = [\"websocket\", \"websocket\"]", #"transports must name "websocket" only once"#),
    broken("transports = [\"tcp\"]", #"transports must be one of "websocket", "polling", not "tcp""#),
    broken("transports = \"websocket\"", #"transports must be a list of "websocket", "polling", not a string"#),
    broken("keep = \"never\"", #"keep must be one of "on-demand", "always", not "never""#),
    broken("attachments = 0", "attachments must be between 1 and 1000, not 0"),
  ]

  static let secrets = [
    broken("auth = \"token\"", "auth must be a table, not a string"),
    broken("auth = { since = 1979-05-27 }", "auth must hold only what JSON can express, not a date"),
    broken("auth = { limit = inf }", "auth must hold only what JSON can express, not inf"),
    broken("auth_file = \"token\"", #"auth_file must be an absolute path of at most 4095 bytes, not "token""#),
    broken("auth_command = [\"/bin/token\"]", "auth_command is not available in this version"),
    BrokenConfiguration(
      "[upstream.a]\nurl = \"http://h\"\nauth = {}\nauth_file = \"/x\"",
      "g.toml:4: upstream.a has both auth and auth_file, but only one of them can be used"),
    broken("tls = { cert = \"/c\" }", "tls.cert needs upstream.a.tls.key, the key of the certificate"),
    broken("tls = { key = \"/k\" }", "tls.key needs upstream.a.tls.cert, the certificate of the key"),
    broken(
      "tls = { cert = \"/c\", key = \"/etc/secret.key\" }",
      #"tls.key names "/etc/secret.key", which cannot be read: Permission denied"#),
    broken("tls = { ca = \"/etc\" }", #"tls.ca names "/etc", which cannot be read: Is a directory"#),
    broken("tls = { ca = \"ca.pem\" }", #"tls.ca must be an absolute path of at most 4095 bytes, not "ca.pem""#),
    broken(
      "tls = { server_name = \"https://h\" }",
      #"tls.server_name must be the name of a host such as "chat.example.com", not "https://h""#),
    broken(
      "reconnect = { base = \"1m\" }",
      #"reconnect.base is "1m" and must not exceed upstream.a.reconnect.cap, which is "30s""#),
    broken(
      "reconnect = { refused_cap = \"1s\" }",
      #"reconnect.refused_base is "30s" and must not exceed upstream.a.reconnect.refused_cap, which is "1s""#),
  ]

  /// One line of an upstream that is valid otherwise, and what is wrong with it.
  private static func broken(_ line: String, _ problem: String) -> BrokenConfiguration {
    BrokenConfiguration("[upstream.a]\nurl = \"http://h\"\n\(line)", "g.toml:3: upstream.a.\(problem)")
  }

  @Test(arguments: addresses + requests + secrets)
  func mistakeInAnUpstreamIsNamed(_ broken: BrokenConfiguration) {
    #expect(problems(broken.text) == broken.problems)
  }

  @Test func noProblemShowsASecret() {
    let text = """
      [upstream.a]
      url = "ftp://user:hunter2@h/?token=hunter2"
      auth = { token = "hunter2", until = 1979-05-27 }
      auth_file = 5
      headers = { Authorization = "hunter2\\n", "X Y" = "hunter2" }
      query = { token = 5, sid = "hunter2" }
      """
    #expect(
      problems(text) == """
        g.toml:2: upstream.a.url has the scheme "ftp", but must have one of http, https, ws, wss
        g.toml:3: upstream.a.auth must hold only what JSON can express, not a date
        g.toml:4: upstream.a.auth_file must be an absolute path of at most 4095 bytes, not an integer
        g.toml:4: upstream.a has both auth and auth_file, but only one of them can be used
        g.toml:5: upstream.a.headers.Authorization must not hold a line break or another control character
        g.toml:5: upstream.a.headers.X Y is not the name of a header
        g.toml:6: upstream.a.query.token must be a string, not an integer
        g.toml:6: upstream.a.query.sid is a parameter that the connection itself sets
        """)
  }

  @Test func mistakeInDefaultsIsNotRepeatedForEveryUpstream() {
    let text = """
      [defaults]
      tls = { cert = "/c", ca = "/etc" }
      [upstream.a]
      url = "http://h"
      [upstream.b]
      url = "http://h"
      """
    #expect(
      problems(text) == """
        g.toml:2: defaults.tls.cert needs defaults.tls.key, the key of the certificate
        g.toml:2: defaults.tls.ca names "/etc", which cannot be read: Is a directory
        """)
  }
}
