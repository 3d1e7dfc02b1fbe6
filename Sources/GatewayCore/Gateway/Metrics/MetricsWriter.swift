/// How metrics are written. Both say the same; Prometheus reads both.
public enum MetricsFormat: String, CaseIterable, Sendable {
  /// OpenMetrics 1.0.
  case openMetrics = "openmetrics"
  /// The older text format of Prometheus, 0.0.4: for `promtool check metrics` and the text files of `node_exporter`.
  case prometheus

  /// As HTTP names it.
  public var contentType: String {
    switch self {
    case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
    case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
    }
  }
}

/// What kind of number a metric is.
enum MetricType: String {
  case gauge, counter, histogram
}

/// Writes families of metrics, each begun and then all of its samples.
struct MetricsWriter {
  let format: MetricsFormat
  private(set) var text: [UInt8] = []
  /// The name of the samples of the present family.
  private var name = ""
  /// The label that all samples have until another one is set, with its value.
  var subject: (name: String, value: String)?

  init(_ format: MetricsFormat) { self.format = format }

  /// A family begins. OpenMetrics calls the family of a counter by its name without `_total`.
  mutating func begin(_ family: String, _ type: MetricType, _ help: String) {
    name = type == .counter ? family + "_total" : family
    let title = format == .openMetrics ? family : name
    text += "# HELP \(title) \(help)\n# TYPE \(title) \(type.rawValue)\n".utf8
  }

  mutating func value(_ value: some BinaryInteger, _ label: (name: String, value: String)? = nil) {
    beginSample("", label)
    text.append(decimal: value)
    text.append("\n")
  }

  mutating func seconds(_ duration: Duration) {
    beginSample("", nil)
    endSample(nanoseconds: UInt64(max(0, duration.nanoseconds)))
  }

  /// What took at most 2^`power` nanoseconds for each of the powers, and all.
  mutating func histogram(_ histogram: DurationHistogram, powers: [Int]) {
    for power in powers {
      beginSample("_bucket", ("le", Self.seconds(1 << UInt64(power))))
      text.append(decimal: histogram.count(upToPower: power))
      text.append("\n")
    }
    beginSample("_bucket", ("le", "+Inf"))
    text.append(decimal: histogram.count)
    text.append("\n")
    beginSample("_sum", nil)
    endSample(nanoseconds: histogram.sum)
    beginSample("_count", nil)
    text.append(decimal: histogram.count)
    text.append("\n")
  }

  /// Nothing follows.
  mutating func end() { if format == .openMetrics { text.append("# EOF\n") } }

  private static func seconds(_ nanoseconds: UInt64) -> String { (Double(nanoseconds) / 1e9).description }

  private mutating func endSample(nanoseconds: UInt64) { text += (Self.seconds(nanoseconds) + "\n").utf8 }

  private mutating func beginSample(_ suffix: String, _ label: (name: String, value: String)?) {
    text += name.utf8
    text += suffix.utf8
    var opening = UInt8(ascii: "{")
    if let subject { append(subject, &opening) }
    if let label { append(label, &opening) }
    if opening == UInt8(ascii: ",") { text.append(UInt8(ascii: "}")) }
    text.append(UInt8(ascii: " "))
  }

  private mutating func append(_ label: (name: String, value: String), _ opening: inout UInt8) {
    text.append(opening)
    opening = UInt8(ascii: ",")
    text += label.name.utf8
    text += "=\"".utf8
    for byte in label.value.utf8 {
      switch byte {
      case UInt8(ascii: "\\"), UInt8(ascii: "\""):
        text.append(UInt8(ascii: "\\"))
        text.append(byte)
      case UInt8(ascii: "\n"): text += "\\n".utf8
      default: text.append(byte)
      }
    }
    text.append(UInt8(ascii: "\""))
  }
}
