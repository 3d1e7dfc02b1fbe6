/// What the protocol names but this version does not offer: it is refused like any unknown name, with a sentence that
/// says so. A name leaves this list when it enters the method table.
enum LaterVersions {
  static let methods: Set<String> = [
    "metrics"
  ]
}
