/// An upstream while its tables are being read: its URLs are still text, and may be missing.
struct UpstreamDraft {
  var url: [String]?
  var settings: UpstreamSettings
}
