import Testing

@testable import GatewayCore
@testable import gatewayd

/// What is wrong with upstreams.
struct ConfigurationUpstreamTests {
  static let addresses = [
    BrokenConfiguration("[upstream.a]\nkeep = \"always\"", "g.toml:1: upstream.a has no url"),
    BrokenConfiguration("[upstream]\na = 1", "g.toml:2: upstream.a must be a table, [upstream.NAME], not an integer"),
    BrokenConfiguration("upstream = [1]", "g.toml:1: upstream must be a table, not an array"),
    BrokenConfiguration("[upstream.a]\nurl = 1", "g.toml:2: upstream.a.url must be a URL, not an integer"),
    BrokenConfiguration("[upstream.a]\nurl = []", "g.toml:2: upstream.a.url must be 1 to 8 URLs, not 0"),
    BrokenConfiguration(
      "[upstream.a]\nurl = [\"http://h/x\", \"http://i/y\"]",
      "g.toml:2: upstream.a.url must have the same path, which is the namespace, in each of its URLs"),
    BrokenConfiguration(
      "[upstream.a]\nurl = [\"http://h\", \"ws://h:80/\"]",
      "g.toml:2: upstream.a.url must not name the same URL twice"),
    BrokenConfiguration(
      "[upstream.a]\nurl = \"chat\"",
      "g.toml:2: upstream.a.url cannot be used: the URL has no scheme; write for example https://chat"),
    BrokenConfiguration(
      "[upstream.a]\nurl = \"ftp://h\"",
      #"g.toml:2: upstream.a.url has the scheme "ftp", but must have one of http, https, ws, wss, raw+ws, raw+wss, tcp, tls, wamp+ws, wamp+wss"#
    ),
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
      "[upstream.a]\nurl = \"tcp://h:1\"\nparser = \"json\"\nwebsocket = { subprotocols = [\"a\"] }",
      "g.toml:3: upstream.a.parser means nothing for an upstream of tcp://; leave it out",
      "g.toml:4: upstream.a.websocket means nothing for an upstream of tcp://; leave it out"),
    BrokenConfiguration(
      "[upstream.a]\nurl = \"http://h\"\nlines.type = \"t\"",
      "g.toml:3: upstream.a.lines means nothing for an upstream of http://; leave it out"),
    BrokenConfiguration(
      "[upstream.a]\nurl = \"tcp://h\"",
      "g.toml:2: upstream.a cannot be used: the URL needs a port, for tcp:// has no usual one: tcp://h:4000"),
    BrokenConfiguration(
      "[upstream.a]\nurl = [\"raw+ws://h\", \"http://h\"]",
      "g.toml:2: upstream.a.url must have URLs of one kind: raw+ws, raw+wss"),
    BrokenConfiguration(
      "[upstream.a]\nurl = \"http://h\"\nquery = { sid = \"1\" }",
      #"g.toml:2: upstream.a cannot be used: the query parameter sid is used by the connection itself"#),
    BrokenConfiguration(
      "[upstream.a]\nurl = [\"wamp+wss://h/ws#a\", \"wamp+wss://i/ws#b\"]",
      "g.toml:2: upstream.a cannot be used: its URLs name different realms, which are connections of their own: make an upstream for each"
    ),
    BrokenConfiguration(
      "[upstream.a]\nurl = \"http://h/?v=1&EIO=3\"",
      #"g.toml:2: upstream.a cannot be used: the query parameter EIO is used by the connection itself"#),
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
    broken("headers = { \"A\\u001b\\n\" = \"x\" }", "headers.A\\u001b\\u000a is not the name of a header"),
    broken("headers = { X = 1 }", "headers.X must be a string or a table, not an integer"),
    broken(
      "headers = { X = \"a\\r\\nY: b\" }",
      "headers.X must not hold a line break or another control character"),
    broken(
      "headers = { X = \"a\", x = \"b\" }", "headers.x is a header that stands here already in other letters"),
    broken("headers = [\"X: y\"]", "headers must be a table of headers, not an array"),
    broken("query = { v = 2 }", "query.v must be a string or a table, not an integer"),
    broken("query = { \"\" = \"2\" }", "query must not have a parameter without a name"),
    broken("upgrade = 1", "upgrade must be true or false, not an integer"),
    broken("transports = []", #"transports must be a list of "websocket", "polling", not an empty one"#),
    broken("transports = [\"websocket\", \"websocket\"]", #"transports must name "websocket" only once"#),
    broken("transports = [\"tcp\"]", #"transports must be one of "websocket", "polling", not "tcp""#),
    broken("transports = \"websocket\"", #"transports must be a list of "websocket", "polling", not a string"#),
    broken(
      "proxy = \"proxy:3128\"",
      "proxy cannot be used: the proxy's URL has no scheme; write for example http://proxy.example:3128"),
    broken(
      "proxy = \"https://h\"",
      "proxy cannot be used: the proxy's URL must begin with one of http://, socks5://, socks5h://"),
    broken("proxy = 1", "proxy must be the URL of a proxy, or \"none\", not an integer"),
    broken("no_proxy = \"h\"", "no_proxy must be a list of names, addresses and networks, or \"*\", not a string"),
    broken(
      "no_proxy = [\"a b\"]", "no_proxy must be a list of names, addresses and networks, or \"*\", not \"a b\""),
    broken("keep = \"never\"", #"keep must be one of "on-demand", "always", not "never""#),
    broken("attachments = 0", "attachments must be between 1 and 1000, not 0"),
  ]

  static let secrets = [
    broken("auth = \"token\"", "auth must be a table, not a string"),
    broken("auth = { since = 1979-05-27 }", "auth must hold only what JSON can express, not a date"),
    broken("auth = { limit = inf }", "auth must hold only what JSON can express, not inf"),
    broken("auth_file = \"token\"", #"auth_file must be an absolute path of at most 4095 bytes, not "token""#),
    broken(
      "on_connect = \"join\"",
      "on_connect must be an array of messages, each an array of an event's name and its arguments, not a string"),
    broken(
      "on_connect = [[]]",
      "on_connect must be an array of messages, each an array of an event's name and its arguments, not an array"),
    broken("on_connect = [[1]]", "on_connect must be the event's name, a string, not an integer"),
    broken("on_connect = [[\"a\"], [\"a\"]]", "on_connect must not have a message twice"),
    broken(
      "on_connect = [[\"a\", 1979-05-27]]", "on_connect must hold only what JSON can express, not a date"),
    broken(
      "on_connect = [[\"join\"], [\"connect\"]]",
      "on_connect has the message \"connect\", which cannot be said: the event name connect is reserved by Socket.IO; choose another"
    ),
    broken("auth_command = []", "auth_command must begin with a program: an absolute path, or a name without /"),
    broken(
      "auth_command = [\"bin/token\"]", "auth_command must begin with a program: an absolute path, or a name without /"),
    broken(
      "auth_command = \"/bin/token\"",
      "auth_command must be an array of strings: a program and its arguments, not a string"),
    broken(
      "auth_command = [\"/bin/token\", 1]",
      "auth_command must be an array of strings: a program and its arguments, not an integer"),
    broken("auth_command = [\"/bin/token\", \"a\\u0000\"]", "auth_command must not hold a zero byte"),
    broken(
      "auth_credential = \"../x\"",
      #"auth_credential must be the name of a credential: 1 to 255 printable characters without /, not "../x""#),
    broken(
      "headers = { A = {} }",
      "headers.A must be a string, or a table with exactly one of file, credential and command and perhaps prefix"),
    broken(
      "headers = { A = { file = \"/a\", command = [\"b\"] } }",
      "headers.A must be a string, or a table with exactly one of file, credential and command and perhaps prefix"),
    broken(
      "query = { a = { path = \"/a\" } }",
      "query.a must be a string, or a table with exactly one of file, credential and command and perhaps prefix"),
    broken(
      "headers = { A = { file = \"a\" } }", #"headers.A.file must be an absolute path of at most 4095 bytes, not "a""#),
    broken(
      "headers = { A = { file = \"/a\", prefix = \"x\\n\" } }",
      "headers.A.prefix must not hold a line break or another control character"),
    broken(
      "headers = { A = { file = \"/a\" }, a = \"b\" }",
      "headers.a is a header that stands here already in other letters"),
    BrokenConfiguration(
      "[upstream.a]\nurl = \"http://h/?v=1&%45IO=3\"",
      "g.toml:2: upstream.a cannot be used: the query parameter EIO is used by the connection itself"),
    BrokenConfiguration(
      "[upstream.a]\nurl = \"http://u:p@h\"\nheaders = { authorization = { file = \"/a\" } }",
      "g.toml:2: upstream.a cannot be used: the URL has a user name and the configuration an Authorization header: only one of them can be sent"
    ),
    BrokenConfiguration(
      "[upstream.a]\nurl = \"http://h\"\nauth_command = [\"a\"]\nauth_credential = \"b\"\nauth_file = \"/c\"",
      "g.toml:5: upstream.a has auth_file, auth_credential and auth_command, but only one of them can be used"),
    broken(
      "refresh = { most = \"5s\" }",
      #"refresh.least is "30s" and must not exceed upstream.a.refresh.most, which is "5s""#),
    BrokenConfiguration(
      "[upstream.a]\nurl = \"http://h\"\nauth = {}\nauth_file = \"/x\"",
      "g.toml:4: upstream.a has both auth and auth_file, but only one of them can be used"),
    broken(
      "server_time = { member = \"now\" }",
      "server_time.member needs upstream.a.server_time.event or upstream.a.server_time.request"),
    broken(
      "server_time = { event = \"tick\", every = \"1m\" }",
      "server_time.every needs upstream.a.server_time.request"),
    broken(
      "server_time = { request = \"time\", every = \"0s\" }",
      "server_time.every must be between 1s and 24h, not 0s"),
    broken(
      "server_time = { event = \"\" }",
      "server_time.event must be the name of an event, 1 to 256 bytes, not \"\""),
    broken("tls = { cert = \"/c\" }", "tls.cert needs upstream.a.tls.key, the key of the certificate"),
    broken("tls = { key = \"/k\" }", "tls.key needs upstream.a.tls.cert, the certificate of the key"),
    broken(
      "tls = { cert = \"/c\", key = \"/etc/secret.key\" }",
      #"tls.key names "/etc/secret.key", which cannot be read: Permission denied"#),
    broken(
      "tls = { pins = [\"sha256//short=\"] }",
      #"tls.pins must be a list of hashes such as "sha256//YhKJKSzoTt2b5FP18fvpHo7fJYqQCjAa3HWY3tvRMwE=", not "sha256//short=""#
    ),
    broken("tls = { min_version = \"1.1\" }", #"tls.min_version must be one of "1.2", "1.3", not "1.1""#),
    broken("tls = { key_password = \"\" }", "tls.key_password must not be empty and must hold no zero byte"),
    broken(
      "tls = { key_password = \"a\", key_password_file = \"/b\" }",
      "tls has both key_password and key_password_file, but only one of them can be used"),
    BrokenConfiguration(
      "[upstream.a]\nurl = \"http://h\"\nproxy = \"http://h\"\nproxy_password_file = \"/x\"",
      "g.toml:4: upstream.a.proxy_password_file needs a user in upstream.a.proxy"),
    BrokenConfiguration(
      "[upstream.a]\nurl = \"http://h\"\nproxy = \"http://u:p@h\"\nproxy_password_file = \"/x\"",
      "g.toml:4: upstream.a.proxy has a password already, so upstream.a.proxy_password_file cannot be used"),
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

  @Test(arguments: ["raw+ws://h", "wamp+ws://h/ws#r"])
  func whatSocketIOKeepsForItselfIsFreeElsewhere(_ url: String) throws {
    let text = "[upstream.a]\nurl = \"\(url)\"\nquery = { sid = \"1\", t = \"2\" }"
    let upstream = try #require(try configure(text).get().upstreams["a"])
    #expect(upstream.settings.query.map(\.name) == ["sid", "t"])
  }

  @Test(arguments: [
    (
      "raw+ws://h", "[\"join\"]",
      "\"join\", which cannot be said: a plain WebSocket knows no events: send `message` with one argument, not 'join'"
    ),
    (
      "tcp://h:1", "[\"join\", 1, 2]",
      "\"join\", which cannot be said: a message of this upstream has one argument or none"
    ),
  ])
  func whatNoServerOfTheKindCouldBeToldIsAMistakeOfTheFile(_ url: String, _ message: String, _ problem: String) {
    let text = "[upstream.a]\nurl = \"\(url)\"\non_connect = [\(message)]"
    #expect(problems(text) == "g.toml:3: upstream.a.on_connect has the message \(problem)")
  }

  @Test func whatIsSaidAtEveryConnectIsAnEventWithItsArguments() throws {
    let configuration = try configure(
      "[upstream.a]\nurl = \"http://h\"\non_connect = [[\"join\", {room = \"ops\"}, 1], [\"watch\"]]"
    ).get()
    #expect(
      configuration.upstreams["a"]?.settings.onConnect == [
        EnterMessage("join", args: Array(#"[{"room":"ops"},1]"#.utf8)), EnterMessage("watch", args: Array("[]".utf8)),
      ])
  }

  @Test func furtherURLsAreAlternativesInTheirOrder() throws {
    let text = "[upstream.a]\nurl = [\"http://h/x\", \"https://i:8443/x\", \"http://[::1]/x\"]"
    let upstream = try #require(try configure(text).get().upstreams["a"])
    #expect(upstream.urls.map(\.redacted) == ["http://h/x", "https://i:8443/x", "http://[::1]/x"])
  }

  @Test func noProblemShowsASecret() {
    let text = """
      [upstream.a]
      url = "ftp://user:hunter2@h/?token=hunter2"
      auth = { token = "hunter2", until = 1979-05-27 }
      auth_file = 5
      headers = { Authorization = "hunter2\\n", "X Y" = "hunter2" }
      query = { token = 5, "" = "hunter2" }
      proxy = "http://user:hunter2@proxy:99999"
      """
    #expect(
      problems(text) == """
        g.toml:2: upstream.a.url has the scheme "ftp", but must have one of http, https, ws, wss, raw+ws, raw+wss, tcp, tls, wamp+ws, wamp+wss
        g.toml:3: upstream.a.auth must hold only what JSON can express, not a date
        g.toml:4: upstream.a.auth_file must be an absolute path of at most 4095 bytes, not an integer
        g.toml:4: upstream.a has both auth and auth_file, but only one of them can be used
        g.toml:5: upstream.a.headers.Authorization must not hold a line break or another control character
        g.toml:5: upstream.a.headers.X Y is not the name of a header
        g.toml:6: upstream.a.query.token must be a string or a table, not an integer
        g.toml:6: upstream.a.query must not have a parameter without a name
        g.toml:7: upstream.a.proxy cannot be used: the port of the proxy's URL is not a number from 1 to 65535
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
