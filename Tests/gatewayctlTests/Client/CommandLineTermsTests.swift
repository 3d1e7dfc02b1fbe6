import Testing

@testable import gatewayctl

@Suite struct ShellWordsTests {
  @Test(
    arguments: [
      (
        #"The param "retries" needs the queue: leave "no_queue" out."#,
        "--retries needs the queue: leave --no-queue out."
      ),
      (#"The param "event" of "send" must be a string."#, "EVENT must be a string."),
      (#"The param "ack_timeout" of "request" must be a number."#, "--ack-timeout must be a number."),
      ("`url` cannot be used: it has no host.", "URL cannot be used: it has no host."),
      (#""send" needs the param "url"."#, "send needs URL."),
      ("take some back with `outbox.cancel`, or wait.", "take some back with 'outbox cancel', or wait."),
      ("'outbox.cancel' takes it back.", "'outbox cancel' takes it back."),
      ("name it: by --namespace, or by the param `namespace`.", "name it: by --namespace."),
      (
        "`options` is not allowed here: leave it out.",
        "an option for the server (--path, --header, --query, --cacert, --insecure) is not allowed here: leave it out."
      ),
      (
        #"The param "enter" of "subscribe" must be an array of 1 to 100 objects {"event":string,"args":array,"kwargs":object}, without "events"."#,
        #"--enter must be an array of 1 to 100 objects {"event":string,"args":array,"kwargs":object}, without "events"."#
      ),
      (
        #"The param "delivery" of "send" must be "time" or "state"."#, #"--delivery must be "time" or "state"."#
      ),
      (#"No upstream is called 'retries'; give a configured name, or a URL."#, nil),
      (#"The server refused "event" and "url"."#, nil),
    ] as [(String, String?)])
  func namesOfParamsBecomeWordsOfTheCommandLine(_ message: String, _ shown: String?) {
    #expect(CommandLineTerms.of(message) == shown ?? message)
  }
}
