import Testing

@testable import GatewayCore

@Suite struct RedisErrorTests {
  @Test(arguments: [
    ("FENCED another has taken its place", RedisError.Meaning.fenced),
    ("ERR The ID specified in XADD is equal or smaller than the target stream top item", .passed),
    ("NOSCRIPT No matching script. Please use EVAL.", .unknownScript),
    ("OOM command not allowed when used memory > 'maxmemory'.", .refused(.full)),
    (
      "NOPERM this user has no permissions to run the 'xadd' command",
      .refused(.forbidden("NOPERM this user has no permissions to run the 'xadd' command"))
    ),
    (
      "ERR The user executing the script can't run this command or subcommand script: a, on @user_script:1.",
      .refused(
        .forbidden(
          "ERR The user executing the script can't run this command or subcommand script: a, on @user_script:1."))
    ),
    (
      "WRONGTYPE Operation against a key holding the wrong kind of value",
      .refused(.other("WRONGTYPE Operation against a key holding the wrong kind of value"))
    ),
    ("ERR syntax error", .refused(.other("ERR syntax error"))),
    ("READONLY You can't write against a read only replica.", .wrongServer(.replica)),
    ("UNBLOCKED force unblock from blocking operation, instance state changed", .wrongServer(.replica)),
    ("MASTERDOWN Link with MASTER is down", .wrongServer(.replica)),
    ("LOADING Redis is loading the dataset in memory", .wrongServer(.loading)),
    ("BUSY Redis is busy running a script.", .wrongServer(.busy)),
    ("NOAUTH Authentication required.", .wrongServer(.loginMissing)),
    ("MOVED 3999 127.0.0.1:6381", .wrongServer(.moved(to: RedisPlace(host: "127.0.0.1", port: 6_381)))),
    ("MOVED 3999 ::1:6381", .wrongServer(.moved(to: RedisPlace(host: "::1", port: 6_381)))),
    ("MOVED 3999 :6381", .wrongServer(.moved(to: nil))), ("MOVED", .wrongServer(.moved(to: nil))),
    ("CLUSTERDOWN Hash slot not served", .wrongServer(.clusterChanges("CLUSTERDOWN Hash slot not served"))),
    // Of scripts on servers before 7.0.
    (
      "ERR Error running script (call to f_a): @user_script:4: @user_script: 4: -READONLY You can't write against a read only replica.",
      .wrongServer(.replica)
    ),
    (
      "ERR Error running script (call to f_a): @user_script:4: @user_script: 4: -OOM command not allowed when used memory > 'maxmemory'.",
      .refused(.full)
    ),
    (
      "ERR Error running script (call to f_a): @user_script:6: WRONGTYPE Operation against a key",
      .refused(
        .other("ERR Error running script (call to f_a): @user_script:6: WRONGTYPE Operation against a key"))
    ),
    (
      "ERR Error running script (call to f_a): @user_script:1: @user_script: 1: The user executing the script can't access",
      .refused(
        .forbidden(
          "ERR Error running script (call to f_a): @user_script:1: @user_script: 1: The user executing the script can't access"
        ))
    ),
    ("", .refused(.other(""))),
  ])
  func whatAServerSaysHasOneMeaning(text: String, meaning: RedisError.Meaning) {
    #expect(RedisError(text).meaning == meaning)
  }

  @Test func onlyTheBeginningOfASentenceIsKept() {
    let bytes = Array(("ERR " + String(repeating: "x", count: 10_000)).utf8)
    #expect(RedisError(bytes.span.bytes).text.utf8.count < RedisError.limit + 8)
  }

  @Test(arguments: [
    (RedisTrouble.replica, DownReason.unreachable, "r:1 is a replica, and only the master takes writes"),
    (.sentinel, .unreachable, "r:1 is a Sentinel, which keeps nothing: name the servers that it watches"),
    (.loading, .unreachable, "r:1 is still loading its data"), (.busy, .unreachable, "r:1 is busy with a script"),
    (
      .moved(to: RedisPlace(host: "::1", port: 2)), .unreachable, "r:1 has given the keys away, to [::1]:2"
    ),
    (.moved(to: nil), .unreachable, "r:1 has given the keys away"),
    (.tooOld("6.0.16"), .incompatible, "r:1 is Redis 6.0.16, and a fleet needs 6.2"),
    (.loginMissing, .refused, "r:1 wants a login, and the fleet has no password"),
    (.silent(.seconds(3)), .timeout, "r:1 did not answer within 3000 ms"),
    (
      .malformed(.unknownType(UInt8(ascii: "H"))), .protocolError,
      "r:1 sent “H” where a value of RESP has to begin, so it may be no Redis server"
    ),
    (.noCredential("the credential file /p cannot be read"), .auth, "the credential file /p cannot be read"),
    (.link(UpstreamFailure(.tls, "the certificate has expired")), .tls, "r:1: the certificate has expired"),
    (.link(UpstreamFailure(.unreachable, "no connection to r:1: no")), .unreachable, "no connection to r:1: no"),
    (
      .link(UpstreamFailure(.tls, "r:1 does not speak TLS: use ws:// or http:// if that is meant")), .tls,
      "r:1 does not speak TLS: use redis:// if that is meant"
    ),
    (
      .link(UpstreamFailure(.timeout, "r:1 did not finish the TLS handshake within 5 s")), .timeout,
      "r:1 did not finish the TLS handshake within 5 s: use redis:// if it has no TLS"
    ),
  ])
  func aTroubleIsAReasonAndASentence(trouble: RedisTrouble, reason: DownReason, sentence: String) {
    #expect(trouble.failure(of: "r:1") == UpstreamFailure(reason, sentence))
  }
}
