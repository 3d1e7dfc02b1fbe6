/// The durable sends of this host as rows of its box, by their numbers, and where each of them is. There may be 100,000:
/// nothing here goes through all of them.
struct FleetBoxRows {
  enum Place {
    case fresh, boxed, adopted, withheld, setAside

    /// What becomes of it is looked for now and then.
    fileprivate var isLookedFor: Bool {
      switch self {
      case .adopted, .withheld, .setAside: true
      case .fresh, .boxed: false
      }
    }
  }

  /// What the engine's row of a send is, beside what its host has.
  enum Copy {
    /// The host has it on its disk.
    case spare
    /// Beyond the host's memory there is nothing else.
    case only
  }

  struct Row {
    let name: String
    let fields: FleetFields
    fileprivate(set) var place: Place
    /// Known of what is withheld.
    let copy: Copy
    /// It was put, and there is no answer.
    fileprivate(set) var isPutting = false
    /// An earlier send of its name has ended, of which the engine may still have the outcome: until it has this one.
    fileprivate(set) var isAgain = false
  }

  private var rows = IncrementalTable<UInt64, Row>()
  private var numbers = IncrementalTable<String, UInt64>()
  /// The numbers of all, and below those of the ones that are looked for again and again among very many.
  private var all = SortedSet<UInt64>()
  private var fresh = SortedSet<UInt64>()
  private var lookedFor = SortedSet<UInt64>()

  var isEmpty: Bool { all.isEmpty }
  subscript(number: UInt64) -> Row? { rows[number] }
  func has(_ name: String) -> Bool { numbers[name] != nil }

  // MARK: - One of them

  /// By the name that its fields say, in place of one of the same number. Returns the name.
  @discardableResult
  mutating func add(_ number: UInt64, _ fields: FleetFields, _ place: Place, _ copy: Copy = .spare) -> String {
    let name = fields.text("id") ?? String(number)
    rows[number] = Row(
      name: name, fields: fields, place: place, copy: copy, isPutting: rows[number]?.isPutting ?? false)
    numbers[name] = number
    all.insert(number)
    move(number, to: place)
    return name
  }

  mutating func move(_ number: UInt64, to place: Place) {
    rows[number]?.place = place
    if place != .fresh { rows[number]?.isAgain = false }
    if place == .fresh { fresh.insert(number) } else { fresh.remove(number) }
    if place.isLookedFor { lookedFor.insert(number) } else { lookedFor.remove(number) }
  }

  mutating func note(_ number: UInt64, isPutting: Bool) { rows[number]?.isPutting = isPutting }

  mutating func noteAgain(_ number: UInt64) { rows[number]?.isAgain = true }

  @discardableResult
  mutating func forget(_ number: UInt64) -> Row? {
    guard let row = rows.removeValue(forKey: number) else { return nil }
    numbers[row.name] = nil
    all.remove(number)
    fresh.remove(number)
    lookedFor.remove(number)
    return row
  }

  // MARK: - In their order

  var last: UInt64? { all.last }

  func next(_ limit: Int, behind number: UInt64?) -> [UInt64] { all.next(limit, behind: number) }
  func nextFresh(behind number: UInt64?) -> UInt64? { fresh.first(behind: number) }
  func nextLookedFor(_ limit: Int, behind number: UInt64?) -> [UInt64] { lookedFor.next(limit, behind: number) }

  /// Takes out the first ones: as many as one turn has time for.
  mutating func takePortion() -> [(number: UInt64, row: Row)] {
    all.next(SortedSet<UInt64>.blockLimit, behind: nil).compactMap { number in forget(number).map { (number, $0) } }
  }
}
