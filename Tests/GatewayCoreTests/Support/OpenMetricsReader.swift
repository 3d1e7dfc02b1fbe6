/// Reads OpenMetrics 1.0 as strictly as its grammar is: what is wrong is a problem, with its line.
struct OpenMetricsReader {
  struct Family: Equatable {
    var type = ""
    var help = ""
    /// Names of labels, `le` aside.
    var labels: Set<String> = []
    var samples: [String: Double] = [:]
  }

  private(set) var families: [String: Family] = [:]
  private(set) var problems: [String] = []
  private var current = ""

  init(_ text: String) {
    guard text.hasSuffix("# EOF\n") else {
      problems = ["no end"]
      return
    }
    for line in text.dropLast(6).split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
      if !read(String(line)) { problems.append(String(line)) }
    }
  }

  private mutating func read(_ line: String) -> Bool {
    if let match = line.wholeMatch(of: /# HELP ([a-z_]+) ([^"\\]+\.)/) {
      current = String(match.1)
      guard families[current] == nil else { return false }
      families[current] = Family(help: String(match.2))
      return true
    }
    if let match = line.wholeMatch(of: /# TYPE ([a-z_]+) (gauge|counter|histogram)/) {
      families[current]?.type = String(match.2)
      return match.1 == current
    }
    guard let match = line.wholeMatch(of: /([a-z_]+)(\{.*\})? ([0-9.e+-]+)/), let value = Double(match.3),
      let family = families[current], Self.suffixes[family.type]?.contains(where: { current + $0 == match.1 }) == true
    else { return false }
    let key = String(match.1) + (match.2 ?? "")
    guard families[current]?.samples.updateValue(value, forKey: key) == nil else { return false }
    for label in (match.2 ?? "").matches(of: /([a-z]+)="([^"\\]|\\["\\n])*"/) where label.1 != "le" {
      families[current]?.labels.insert(String(label.1))
    }
    return true
  }

  private static let suffixes = ["gauge": [""], "counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]]
}
