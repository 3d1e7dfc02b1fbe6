/// A place in one of the files of a configuration.
struct Place: Equatable {
  /// Index of the file in the order of reading.
  var file: Int
  var position: TextPosition
}

/// Where each setting of a table was set, the last time if several files set it.
struct SettingOrigins {
  private var places: [String: Place] = [:]

  subscript(_ name: String) -> Place? {
    get { places[name] }
    set { places[name] = newValue }
  }

  /// Later places replace earlier ones.
  mutating func merge(_ later: Self) { places.merge(later.places) { $1 } }

  /// Where a setting, or the first one of a table, was set; nil if none was.
  func first(of name: String) -> Place? {
    places.filter { $0.key == name || $0.key.hasPrefix(name + ".") }.map(\.value)
      .min { ($0.file, $0.position) < ($1.file, $1.position) }
  }

  /// The settings whose names begin with the prefix, without it.
  func below(_ prefix: String) -> Self {
    var origins = Self()
    for (name, place) in places where name.hasPrefix(prefix) { origins[String(name.dropFirst(prefix.count))] = place }
    return origins
  }
}
