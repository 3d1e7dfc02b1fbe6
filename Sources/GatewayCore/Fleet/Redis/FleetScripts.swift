/// The thirteen steps as scripts of Redis. Each begins by comparing the caller's own with what is there, and then does all or
/// nothing. `FleetStepName` has the table of what they take and answer.
///
/// Numbers are written by `%.0f`: a number of Lua that becomes text by itself has 14 digits.
enum FleetScripts {
  static func text(of step: FleetStepName) -> String {
    switch step {
    case .take: last + markers + take
    case .beat: guardedByOwn + alsoWhenFull + last + beat
    case .move: guardedByOwn + alsoWhenFull + move
    case .release: guardedByOwn + alsoWhenFull + release
    case .open: guardedByOwn + alsoWhenFull + last + markers + open
    case .down: guardedByOwn + alsoWhenFull + last + markers + down
    case .done: guardedByOwn + alsoWhenFull + done
    case .adopt: guardedByOwn + adopt
    case .join: alsoWhenFull + join
    case .alive: guardedByLife + alsoWhenFull + alive
    case .put: guardedByLife + put
    case .find: guardedByLife + find
    case .forget: forget
    }
  }

  /// By what a server calls a script that it was told once.
  static func digest(of step: FleetStepName) -> String { digests[step] ?? "" }

  private static let digests = Dictionary(
    uniqueKeysWithValues: FleetStepName.allCases.map { ($0, SHA1.hexadecimal(of: Array(text(of: $0).utf8))) })

  /// The commands in a step's script; with a line, which is counted from 1, those that stand there.
  static func commands(of step: FleetStepName, line: Int? = nil) -> [String] {
    let text = text(of: step)
    guard let line else { return commands(in: text[...]) }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    return lines.indices.contains(line - 1) ? commands(in: lines[line - 1]) : []
  }

  private static func commands(in text: Substring) -> [String] {
    let parts = text.split(separator: "'", omittingEmptySubsequences: false)
    var names: [String] = []
    for (before, name) in zip(parts, parts.dropFirst()) where before.hasSuffix("call(") {
      if !names.contains(String(name)) { names.append(String(name)) }
    }
    return names
  }

  private static let guardedByOwn = """
    if redis.call('HGET', KEYS[1], 'own') ~= ARGV[1] then return redis.error_reply('FENCED another has taken its place') end

    """

  private static let guardedByLife = """
    local row = redis.call('HGET', KEYS[1], ARGV[1]) or ''
    local life, beat = string.match(row, '^(%d+):(%d+):')
    if life ~= ARGV[2] then return redis.error_reply('FENCED another has taken its place') end

    """

  /// A server whose memory is full refuses a script's first write, unless that is one which frees something: those behind
  /// it are carried out. Otherwise the lease would end because somebody else's keys need the room. What takes more than a
  /// few bytes has no such line.
  private static let alsoWhenFull = """
    redis.call('HDEL', KEYS[1], '')

    """

  /// The last place of a stream, whose entry may be gone.
  private static let last = """
    local function last(key)
      if redis.call('EXISTS', key) == 0 then return '0-0' end
      local facts = redis.call('XINFO', 'STREAM', key)
      for i = 1, #facts, 2 do if facts[i] == 'last-generated-id' then return facts[i + 1] end end
    end

    """

  /// A marker behind the last entry of `ev`, and behind the lease's. Only writing it can fail, which comes before whatever is set.
  private static let markers = """
    local function mark(least, open, ...)
      local top = tonumber(string.match(last(KEYS[2]), '^(%d+)'))
      local c = math.max(tonumber(redis.call('HGET', KEYS[1], 'c') or '0'), top, least) + 1
      c = string.format('%.0f', c)
      redis.call('XADD', KEYS[2], c .. '-0', ...)
      redis.call('HSET', KEYS[1], 'c', c, 'open', open)
      if open == '1' then redis.call('HSET', KEYS[1], 'why', '') end
      return c
    end

    """

  /// A server that has forgotten everything may be taken by a host that has not seen the latest numbers, or none: those of
  /// conversations begin with the milliseconds since 1970, so that none comes twice, and none is below what others have
  /// read.
  private static let take = """
    local function lease(name) return redis.call('HGET', KEYS[1], name) or '' end
    if lease('own') ~= ARGV[2] or lease('beat') ~= ARGV[3] then return false end
    local heir = lease('next')
    if heir ~= '' and heir ~= '*' and heir ~= ARGV[1] and ARGV[8] ~= '1' then return false end
    local least, known = tonumber(ARGV[5]), tonumber(ARGV[7])
    if lease('own') == '' then
      least = math.max(least, tonumber(ARGV[9]))
      if known > 0 then known = math.max(known, tonumber(ARGV[9])) end
    end
    local term = string.format('%.0f', math.max(tonumber(lease('term')) or 0, known) + 1)
    local seq, offset, seen = '0', '', tonumber(ARGV[6])
    local entry = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1]
    if entry then
      seq = string.match(entry[1], '-(%d+)$')
      for i = 1, #entry[2], 2 do
        if entry[2][i] == 's' then seq = entry[2][i + 1] end
        if entry[2][i] == 'o' then offset = entry[2][i + 1] end
      end
    elseif seen > 0 then
      seq = string.format('%.0f', seen + 1048576)
    end
    redis.call('HDEL', KEYS[1], '')
    local epoch = lease('epoch')
    local c = mark(least, '0', 'k', 'take', 't', term, 'e', epoch, 's', seq, 'o', offset)
    local same = lease('run') == ARGV[4] and 1 or 0
    redis.call('HDEL', KEYS[1], 'next')
    redis.call('HSET', KEYS[1], 'term', term, 'holder', ARGV[1], 'own', term .. '@' .. ARGV[1], 'beat', '0', 'run', ARGV[4], 'at', ARGV[4], 'since', ARGV[9])
    return {term, c, seq, epoch, offset, lease('session'), same}
    """

  /// A holder lives also where `up` is no stream.
  private static let beat = """
    redis.call('HSET', KEYS[1], 'v', ARGV[2], 'config', ARGV[3], 'seq', ARGV[4], 'why', ARGV[8], 'at', ARGV[9])
    if ARGV[5] ~= '' then redis.call('HSET', KEYS[1], 'hosts', ARGV[5], 'may', ARGV[6], 'prefer', ARGV[7]) end
    local isKnown, up = pcall(last, KEYS[2])
    return {redis.call('HINCRBY', KEYS[1], 'beat', 1), redis.call('HGET', KEYS[1], 'next') or '', isKnown and up or ''}
    """

  private static let move = """
    if ARGV[3] == '1' then
      redis.call('HSET', KEYS[1], 'ask', ARGV[2])
      return redis.call('HINCRBY', KEYS[1], 'asks', 1)
    end
    redis.call('HSET', KEYS[1], 'next', ARGV[2])
    return 1
    """

  private static let release = """
    redis.call('HSET', KEYS[1], 'holder', '')
    return 1
    """

  private static let open = """
    local up = last(KEYS[3])
    local term = redis.call('HGET', KEYS[1], 'term')
    local c = mark(0, '1', 'k', 'open', 't', term, 'e', ARGV[3], 's', ARGV[4], 'o', ARGV[5], 'hosts', ARGV[7])
    redis.call('HSET', KEYS[1], 'run', ARGV[2], 'epoch', ARGV[3], 'session', ARGV[6])
    return {c, up}
    """

  /// What is settled is the conversation that the server has as the last one.
  private static let down = """
    local words = {'k', 'down', 't', redis.call('HGET', KEYS[1], 'term'), 'e', ARGV[2], 's', ARGV[3], 'o', ARGV[4], 'r', ARGV[5], 'd', ARGV[6]}
    if redis.call('HGET', KEYS[1], 'c') == ARGV[7] then
      words[#words + 1] = 'c'
      words[#words + 1] = ARGV[7]
    end
    return mark(0, '0', unpack(words))
    """

  /// That the place is taken means that the reply is there, or that something stands ahead of it. Whatever else is wrong with
  /// it is seen before a row changes.
  private static let done = """
    local isNew = 1
    if ARGV[2] ~= '' then
      local words, at = {}, 1
      while at <= #ARGV[3] do
        local name, count, from = string.match(ARGV[3], '^([^:]*):(%d+):()', at)
        words[#words + 1] = name
        words[#words + 1] = string.sub(ARGV[3], from, from + count - 1)
        at = from + count
      end
      local added = redis.pcall('XADD', KEYS[2], ARGV[2], unpack(words))
      if type(added) == 'table' and added.err then
        if not string.find(added.err, 'equal or smaller', 1, true) then return added end
        isNew = 0
      end
    end
    for i = 5, #ARGV, 2 do
      local isThere = redis.call('HEXISTS', KEYS[3], ARGV[i]) == 1
      local wasAdopted = redis.call('HDEL', KEYS[4], ARGV[4] .. '/' .. ARGV[i]) == 1
      if isThere or wasAdopted then
        redis.call('HSET', KEYS[3], ARGV[i], ARGV[i + 1])
      end
    end
    return isNew
    """

  private static let adopt = """
    local row = redis.call('HGET', KEYS[4], ARGV[2]) or ''
    local life, beat, details = string.match(row, '^(%d+):(%d+):(.*)$')
    if life ~= ARGV[3] or beat ~= ARGV[4] then return false end
    redis.call('HDEL', KEYS[1], '')
    local rows, count = redis.call('HGETALL', KEYS[2]), 0
    for i = 1, #rows, 2 do
      if string.sub(rows[i + 1], 1, 1) == '+' then
        redis.call('HSET', KEYS[3], ARGV[2] .. '/' .. rows[i], rows[i + 1])
        redis.call('HDEL', KEYS[2], rows[i])
        count = count + 1
      end
    end
    life = string.format('%.0f', life + 1)
    redis.call('HSET', KEYS[4], ARGV[2], life .. ':-:' .. details)
    return {life, count}
    """

  private static let join = """
    local row = redis.call('HGET', KEYS[1], ARGV[1]) or ''
    local last = tonumber(string.match(row, '^(%d+):')) or 0
    if last > 4e15 then last = 0 end
    local life = math.max(last, tonumber(ARGV[2])) + 1
    life = string.format('%.0f', life)
    redis.call('HSET', KEYS[1], ARGV[1], life .. ':0:' .. ARGV[3])
    local reply = redis.call('HKEYS', KEYS[2])
    table.insert(reply, 1, life)
    return reply
    """

  private static let alive = """
    beat = string.format('%.0f', beat + 1)
    redis.call('HSET', KEYS[1], ARGV[1], life .. ':' .. beat .. ':' .. ARGV[3])
    return beat
    """

  private static let put = """
    redis.call('HSET', KEYS[2], ARGV[3], ARGV[4])
    return 1
    """

  private static let find = """
    local found = {}
    for i = 3, #ARGV do
      local row = redis.call('HGET', KEYS[2], ARGV[i])
      local kind = row and string.sub(row, 1, 1)
      if kind == '+' or kind == '-' then row = kind end
      found[i - 2] = row
    end
    return found
    """

  /// A server has to be let do nothing more for it than a host that holds does anyway, so that the stream of its replies stays,
  /// empty: its last position is behind what the host has read, should it come back.
  private static let forget = """
    local row, start = redis.call('HGET', KEYS[1], ARGV[1]), ARGV[1] .. '/'
    if redis.call('HGET', KEYS[2], 'holder') == ARGV[1] then return {'holds', 0} end
    if row and string.match(row, '^%d+:%d+:') then return {'lives', 0} end
    local waiting, left = 0, 0
    for _, name in ipairs(redis.call('HKEYS', KEYS[5])) do
      if string.sub(name, 1, #start) == start then waiting = waiting + 1 end
    end
    if waiting > 0 then return {'waits', waiting} end
    local rows = redis.call('HGETALL', KEYS[3])
    for i = 1, #rows, 2 do
      local kind = string.sub(rows[i + 1], 1, 1)
      if kind == '+' or kind == '-' then left = left + 1 end
    end
    if left > 0 then return {'left', left} end
    local replies = redis.call('XREVRANGE', KEYS[4], '+', '-', 'COUNT', 1)
    if not row and #rows == 0 and #replies == 0 then return {'unknown', 0} end
    if ARGV[2] ~= '1' then return {'forgotten', 0} end
    for i = 1, #rows, 2 do redis.call('HDEL', KEYS[3], rows[i]) end
    redis.call('XTRIM', KEYS[4], 'MAXLEN', 0)
    redis.call('HDEL', KEYS[1], ARGV[1])
    return {'forgotten', 0}
    """
}
