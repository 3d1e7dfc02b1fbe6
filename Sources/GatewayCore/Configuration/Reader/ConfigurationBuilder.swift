/// Makes a `Configuration` from what the files say: a complete one, or all that is wrong with them. Later files
/// override earlier ones setting by setting, tables of the same upstream are merged, access rules are appended.
public struct ConfigurationBuilder {
  private let lookups: any ConfigurationLookups
  private let urls: any URLReader
  private let kinds: UpstreamKinds
  private var files: [String] = []
  private var trees: [(file: Int, tree: ConfigurationTree)] = []
  private var unread: [(file: Int, problem: ConfigurationProblem)] = []

  /// - Parameter kinds: those that upstreams may be of; they also say what their URLs and settings may not be.
  public init(lookups: any ConfigurationLookups, urls: any URLReader, kinds: UpstreamKinds) {
    self.lookups = lookups
    self.urls = urls
    self.kinds = kinds
  }

  /// Adds the next file.
  public mutating func add(_ tree: ConfigurationTree) { trees.append((index(of: tree.file), tree)) }

  /// Adds the next file, which has no tree: it could not be opened, or its syntax is broken.
  public mutating func add(_ problem: ConfigurationProblem) { unread.append((index(of: problem.file), problem)) }

  /// The configuration, or every problem of every file, in the order of files and lines.
  /// - Parameter warn: called with what a valid configuration says and hardly means.
  public func build(
    warn: (ConfigurationProblem) -> Void = { _ in }
  ) -> Result<Configuration, ConfigurationProblems> {
    let notes = ProblemNotes(files: files, isComplete: unread.isEmpty)
    let warnings = ProblemNotes(files: files)
    var configuration = Configuration()
    let origins = readTables(into: &configuration, noting: notes)
    let roots = trees.map { (file: $0.file, entries: $0.tree.root.entries ?? []) }
    let upstreams = UpstreamsReader(
      defaults: configuration.defaults, lookups: lookups, urls: urls, kinds: kinds,
      hasFleet: origins["fleet.name"] != nil, notes: notes)
    let names = upstreams.read(roots, into: &configuration)
    let rules = AccessReader(upstreams: names, lookups: lookups, notes: notes).read(roots)
    configuration.access = rules.map(\.rule)
    AccessRulesCheck(
      rules: rules, upstreams: configuration.upstreams.keys.sorted(), adhoc: configuration.adhoc
    ).note(warnings)
    configuration.quotas.groups = QuotaReader(lookups: lookups, notes: notes).read(roots)
    let problems = (unread + notes.problems).enumerated().sorted {
      ($0.element.file, $0.offset) < ($1.element.file, $1.offset)
    }
    guard problems.isEmpty else {
      return .failure(
        ConfigurationProblems(problems.map(\.element.problem), leftOut: notes.leftOut, of: files.last ?? ""))
    }
    warnings.problems.forEach { warn($0.problem) }
    return .success(configuration)
  }

  private mutating func index(of file: String) -> Int {
    files.append(file)
    return files.count - 1
  }

  /// Everything that is neither `[upstream.NAME]` nor `[[access]]`. Returns where each setting stands.
  private func readTables(into configuration: inout Configuration, noting notes: ProblemNotes) -> SettingOrigins {
    var origins = SettingOrigins()
    for (file, tree) in trees {
      let entries = tree.root.entries ?? []
      origins.merge(
        ConfigurationSchema.tables.read(entries, title: "", file: file, into: &configuration, noting: notes))
    }
    if let group = configuration.socket.group, UInt32(group) == nil, lookups.groupID(named: group) == nil,
      let place = origins["socket.group"]
    {
      notes.note("socket.group names the group \(group.tomlString), which does not exist", at: place)
    }
    checkFleet(configuration.fleet, origins.below("fleet."), notes)
    UpstreamSettingsCheck(title: "defaults", origins: origins.below("defaults."), lookups: lookups, notes: notes)
      .check(configuration.defaults)
    return origins
  }
}

extension ConfigurationBuilder {
  /// A setting that is there and could not be read has been blamed for that, and is not missing.
  private func checkFleet(_ fleet: FleetOptions, _ origins: SettingOrigins, _ notes: ProblemNotes) {
    if origins["redis"] == nil, let place = origins["name"] {
      notes.noteLack("fleet.name needs fleet.redis, the servers by which the hosts hear of each other", at: place)
    }
    if origins["name"] == nil, let place = origins["redis"] {
      notes.noteLack("fleet.redis needs fleet.name, the name of the fleet", at: place)
    }
    if let one = origins["password_file"], origins["password_credential"] != nil {
      notes.note(
        "fleet has both password_file and password_credential, but only one of them can be used", at: one)
    }
    checkFile("tls.ca", fleet.authorities?.path, origins, notes)
    if lookups.demandsFiles { checkLogin(fleet, origins, notes) }
  }

  /// What is asked for at each connect, and so a daemon starts without it.
  private func checkLogin(_ fleet: FleetOptions, _ origins: SettingOrigins, _ notes: ProblemNotes) {
    if case .file(let path)? = fleet.password { checkFile("password_file", path, origins, notes) }
    if let place = origins["user"], origins["password_file"] == nil, origins["password_credential"] == nil {
      notes.noteLack(
        "fleet.user needs fleet.password_file or fleet.password_credential: without a password there is no login, and "
          + "Redis takes this host for its default user", at: place)
    }
  }

  private func checkFile(_ name: String, _ path: String?, _ origins: SettingOrigins, _ notes: ProblemNotes) {
    guard let path, let place = origins[name], let obstacle = lookups.obstacle(toReading: path) else { return }
    notes.note("fleet.\(name) names \(path.tomlString), which cannot be read: \(obstacle)", at: place)
  }
}

/// Reads the configuration anew, at start and at every reload. The daemon reads files; tests hand out values.
public protocol ConfigurationLoader: AnyObject {
  /// A complete configuration, or everything that is wrong with it. May block for as long as reading files and looking
  /// up accounts takes.
  func load() -> Result<Configuration, ConfigurationProblems>
  /// What the last `load` found worth mentioning that is no mistake.
  var warnings: [ConfigurationProblem] { get }
}

extension ConfigurationLoader {
  /// None.
  public var warnings: [ConfigurationProblem] { [] }
}

/// What a configuration refers to and only the machine knows.
public protocol ConfigurationLookups: AnyObject {
  /// The id of the account; nil when there is none of that name.
  func userID(named name: String) -> UInt32?
  /// The id of the group; nil when there is none of that name.
  func groupID(named name: String) -> UInt32?
  /// Why the file cannot be read, such as `Permission denied`; nil when it can, and nil when it does not exist, because
  /// it may be made later, unless `demandsFiles`: then one that is empty cannot be used either.
  func obstacle(toReading path: String) -> String?
  /// Whether files that are read later have to be there now with something in them, those with credentials too: for a
  /// check by a person.
  var demandsFiles: Bool { get }
}

extension ConfigurationLookups {
  /// A daemon starts without them: each is asked for when it is needed.
  var demandsFiles: Bool { false }
}
