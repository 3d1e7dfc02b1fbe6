/// The scripts that complete command lines of `gatewayctl`, made from the tables that its parser reads. All three walk
/// over the words in front in the same way; what each shell wants is how it is told what to offer. That for bash, which
/// takes words apart in its own way, is `BashCompletion`.
enum Completion {
  /// The shells that there is a script for.
  enum Shell: String, CaseIterable, Sendable {
    case bash, zsh, fish
  }

  static func script(for shell: Shell) -> String {
    switch shell {
    case .bash: BashCompletion.script
    case .zsh: zsh
    case .fish: fish
    }
  }

  // MARK: zsh

  private static var zsh: String {
    """
    #compdef gatewayctl
    # Completes command lines of gatewayctl in zsh: the output of 'gatewayctl completion zsh', as _gatewayctl in a folder
    # of $fpath.
    _gatewayctl_upstreams() {
      \(upstreams)
    }
    _gatewayctl_events() {
      \(events)
    }
    _gatewayctl_methods() {
      \(methods)
    }
    _gatewayctl() {
      local current=${words[CURRENT]} previous=${words[CURRENT - 1]} prefix=
      local command= skip= word socket= upstream=
      local -i operands=0 place=1
      local -a offered
      for word in "${(@)words[2,CURRENT - 1]}"; do
        place+=1
        if [[ -n $skip ]]; then
          [[ $skip != --socket ]] || socket=$word
          skip=
          continue
        fi
        case "$word" in
          --)
            [[ $command == serve ]] || return
            shift $place words
            (( CURRENT -= place ))
            (( ! $+functions[_normal] )) || _normal
            return ;;
          --socket=*) socket=${word#*=} ;;
          (\(valued.joined(separator: "|")))
            case "$command $word" in (\((flags.map { "'\($0)'" } + ["''"]).joined(separator: "|"))) ;; (*) skip=$word ;; esac ;;
          -*) ;;
          *) if [[ -z $command ]]; then command=$word; else operands+=1; upstream=${upstream:-$word}; fi ;;
        esac
      done
      [[ -n $skip ]] || previous=
      if [[ $current == --*=* ]]; then
        previous=${current%%=*}
        compset -P '*='
      fi
      case "$command" in
        '') offered=(\(described(CommandTable.specifications)) \(described(OptionSpecification.common))) ;;
    \(CommandTable.specifications.map(zshChoice).joined())  esac
      _describe gatewayctl offered
    }
    if [[ ${funcstack[1]-} == _gatewayctl ]]; then _gatewayctl "$@"; else compdef _gatewayctl gatewayctl; fi

    """
  }

  private static func zshChoice(_ command: CommandSpecification) -> String {
    var text = "    \(command.name.rawValue))\n      case \"$previous\" in\n"
    for option in command.allOptions where option.value != nil {
      let value =
        option.choices.isEmpty ? "_files; return" : "compadd -- \(option.choices.joined(separator: " ")); return"
      text += "        (\(forms(option).joined(separator: "|"))) \(value) ;;\n"
    }
    text += "      esac\n"
    if !command.choices.isEmpty {
      text += "      (( operands )) || offered+=(\(command.choices.joined(separator: " ")))\n"
    }
    if let place = upstreamPlace(command) {
      text += "      if (( operands == \(place) )) && [[ $current != -* ]]; then\n"
      text += "        compadd -- ${(f)\"$(_gatewayctl_upstreams \"$socket\")\"}\n      fi\n"
    }
    if let place = eventPlace(command) {
      text += "      if (( operands \(place.isRepeated ? ">=" : "==") \(place.first) )) && [[ $current != -* ]]; then\n"
      text += "        compadd -- ${(f)\"$(_gatewayctl_events \"$socket\" \"$upstream\")\"}\n      fi\n"
    }
    if let place = methodPlace(command) {
      text += "      if (( operands == \(place) )) && [[ $current != -* ]]; then\n"
      text += "        compadd -- ${(f)\"$(_gatewayctl_methods \"$socket\")\"}\n      fi\n"
    }
    if let place = filePlace(command) {
      text += "      if (( operands == \(place) )) && [[ $current != -* ]]; then _files; return; fi\n"
    }
    return text + "      offered+=(\(described(command.allOptions))) ;;\n"
  }

  private static func described(_ commands: [CommandSpecification]) -> String {
    commands.map { described($0.name.rawValue, $0.summary) }.joined(separator: " ")
  }

  private static func described(_ options: [OptionSpecification]) -> String {
    options.map { described("--\($0.name.rawValue)", $0.summary) }.joined(separator: " ")
  }

  /// `'word:what it is'`.
  private static func described(_ word: String, _ summary: String) -> String {
    "'\(word):\(quoted(brief(summary)))'"
  }

  // MARK: fish

  private static var fish: String {
    var text = """
      # Completes command lines of gatewayctl in fish: the output of 'gatewayctl completion fish'.
      function __gatewayctl_upstreams
        set -l socket --socket=(__gatewayctl_place socket)
        test "$socket" = --socket=; and set socket
        begin
          gatewayctl connections --json --timeout 1s $socket 2>/dev/null | sed -n \(upstreamExpressions)
          gatewayctl call upstreams.list --timeout 1s $socket 2>/dev/null | \(configuredNames)
        end | sort -u
      end
      function __gatewayctl_events
        set -l socket --socket=(__gatewayctl_place socket)
        test "$socket" = --socket=; and set socket
        gatewayctl history --last 200 --format %e --timeout 1s $socket -- (__gatewayctl_place upstream) 2>/dev/null | \(eventNames) | sort -u
      end
      function __gatewayctl_methods
        set -l socket --socket=(__gatewayctl_place socket)
        test "$socket" = --socket=; and set socket
        gatewayctl introspect --json --timeout 1s $socket 2>/dev/null | \(methodNames)
      end
      # What stands in front of the cursor: the command, how many operands, the first of them, or the socket.
      function __gatewayctl_place
        set -l command
        set -l operands 0
        set -l skip
        set -l socket ""
        set -l upstream
        for word in (commandline -opc)[2..-1]
          if test -n "$skip"
            test $skip = --socket; and set socket $word
            set skip
            continue
          end
          switch $word
            case --
              set operands 1000
            case '--socket=*'
              set socket (string replace -- '--socket=' '' $word)
            case \(valued.joined(separator: " "))
              contains -- "$command $word" \(flags.map { "'\($0)'" }.joined(separator: " ")); or set skip $word
            case '-*'
            case '*'
              if test -z "$command"
                set command $word
              else
                set operands (math $operands + 1)
                test $operands -ne 1; or set upstream $word
              end
          end
        end
        switch $argv[1]
          case command
            echo $command
          case operands
            echo $operands
          case socket
            echo $socket
          case upstream
            echo $upstream
        end
      end
      # Whether the cursor is behind this command.
      function __gatewayctl_in
        test (__gatewayctl_place command)x = $argv[1]x
      end
      # Whether it is at this operand of this command, the first being 0.
      function __gatewayctl_at
        __gatewayctl_in $argv[1]; and test (__gatewayctl_place operands) -eq $argv[2]
      end
      # Whether it is at this operand, or behind it.
      function __gatewayctl_from
        __gatewayctl_in $argv[1]; and test (__gatewayctl_place operands) -ge $argv[2]; and test (__gatewayctl_place operands) -lt 1000
      end
      complete -c gatewayctl -e
      complete -c gatewayctl -f

      """
    for command in CommandTable.specifications {
      text +=
        "complete -c gatewayctl -n '__gatewayctl_in \"\"' -a \(command.name.rawValue) -d '\(quoted(brief(command.summary)))'\n"
    }
    for option in OptionSpecification.common { text += fishOption(option, of: "") }
    for command in CommandTable.specifications {
      let name = command.name.rawValue
      if !command.choices.isEmpty {
        text += "complete -c gatewayctl -n '__gatewayctl_at \(name) 0' -a '\(command.choices.joined(separator: " "))'\n"
      }
      if let place = upstreamPlace(command) {
        text += "complete -c gatewayctl -n '__gatewayctl_at \(name) \(place)' -a '(__gatewayctl_upstreams)'\n"
      }
      if let place = eventPlace(command) {
        let condition = "__gatewayctl_\(place.isRepeated ? "from" : "at") \(name) \(place.first)"
        text += "complete -c gatewayctl -n '\(condition)' -a '(__gatewayctl_events)'\n"
      }
      if let place = methodPlace(command) {
        text += "complete -c gatewayctl -n '__gatewayctl_at \(name) \(place)' -a '(__gatewayctl_methods)'\n"
      }
      if let place = filePlace(command) {
        text += "complete -c gatewayctl -n '__gatewayctl_at \(name) \(place)' -F\n"
      }
      for option in command.allOptions { text += fishOption(option, of: name) }
    }
    return text
  }

  private static func fishOption(_ option: OptionSpecification, of command: String) -> String {
    let short = option.short.map { " -s \($0)" } ?? ""
    var value = ""
    if option.value != nil {
      value = option.choices.isEmpty ? " -r -F" : " -x -a '\(option.choices.joined(separator: " "))'"
    }
    let condition = "'__gatewayctl_in \"\(command)\"'"
    return "complete -c gatewayctl -n \(condition) -l \(option.name.rawValue)\(short)\(value)"
      + " -d '\(quoted(brief(option.summary)))'\n"
  }

  // MARK: What all of them know

  /// The names and addresses of the daemon's connections, and the names of upstreams without any, one per line; the
  /// socket is the first argument, or empty.
  static var upstreams: String {
    """
    {
        gatewayctl connections --json --timeout 1s ${1:+"--socket=$1"} 2>/dev/null | sed -n \(upstreamExpressions)
        gatewayctl call upstreams.list --timeout 1s ${1:+"--socket=$1"} 2>/dev/null | \(configuredNames)
      } | sort -u
    """
  }

  /// The names of the last events of an upstream, which is the second argument, one per line.
  static var events: String {
    """
    gatewayctl history --last 200 --format %e --timeout 1s ${1:+"--socket=$1"} -- "$2" 2>/dev/null |
        \(eventNames) | sort -u
    """
  }

  /// The names of the daemon's methods, one per line.
  static var methods: String {
    #"gatewayctl introspect --json --timeout 1s ${1:+"--socket=$1"} 2>/dev/null | "# + methodNames
  }

  /// The names of methods out of their descriptions; what else has a name there has no right.
  private static let methodNames =
    #"sed 's/"name":/\n&/g' | sed -n 's/^"name":"\([a-z._]*\)","summary":.*"x-right":.*/\1/p'"#

  /// The elements of the answer's array: what a shell takes as it is.
  private static let configuredNames =
    #"tr '[,' '\n\n' | sed -n 's/^"\([A-Za-z0-9_.-]*\)"\]*$/\1/p'"#

  /// The same of names that servers have chosen.
  private static let eventNames = #"sed -n '\,^[A-Za-z0-9_./][A-Za-z0-9_.:/+-]*$,p'"#

  /// A name, or an address where there is none: of both only what a shell takes as it is, because bash expands what it
  /// is offered.
  private static let upstreamExpressions =
    #"-e 's,.*"upstream":"\([A-Za-z0-9_.-]*\)".*,\1,p' -e t -e 's,.*"url":"\([A-Za-z0-9_.~:/%+-]*\)".*,\1,p'"#

  /// Which operand of a command is an upstream, the first being 0; nil where none is.
  static func upstreamPlace(_ command: CommandSpecification) -> Int? {
    operands(command).firstIndex(of: "URL") ?? operands(command).firstIndex(of: "UPSTREAM")
  }

  /// Which operand is the name of a file.
  static func filePlace(_ command: CommandSpecification) -> Int? { operands(command).firstIndex(of: "FILE") }

  /// Which operand is the name of a method of the daemon.
  static func methodPlace(_ command: CommandSpecification) -> Int? {
    operands(command).firstIndex(of: "METHOD")
  }

  private static func operands(_ command: CommandSpecification) -> [String] {
    command.operands.split(separator: " ").map { $0.filter { $0 != "[" && $0 != "]" } }
  }

  /// Which operand of a command is the name of an event that a server has sent, and whether others follow; nil where
  /// none is.
  static func eventPlace(_ command: CommandSpecification) -> (first: Int, isRepeated: Bool)? {
    let operands = Self.operands(command)
    guard upstreamPlace(command) == 0, let place = operands.firstIndex(where: { $0.hasPrefix("EVENT") }) else {
      return nil
    }
    return (place, operands[place].hasSuffix("…"))
  }

  static var commands: String { CommandTable.specifications.map(\.name.rawValue).joined(separator: " ") }

  /// Every way to write an option that has a value, with one command at least.
  static var valued: [String] {
    let options = OptionSpecification.common + CommandTable.specifications.flatMap(\.options)
    var seen: Set<String> = []
    return options.filter { $0.value != nil }.flatMap(forms).filter { seen.insert($0).inserted }
  }

  /// The commands with which one of those has none, as `subscribe --state`.
  static var flags: [String] {
    let valued = Set(valued)
    return CommandTable.specifications.flatMap { command in
      command.allOptions.filter { $0.value == nil }.flatMap(forms).filter { valued.contains($0) }
        .map { "\(command.name.rawValue) \($0)" }
    }
  }

  static func forms(_ option: OptionSpecification) -> [String] {
    ["--\(option.name.rawValue)"] + (option.short.map { ["-\($0)"] } ?? [])
  }

  static func words(_ options: [OptionSpecification]) -> String {
    options.map { "--\($0.name.rawValue)" }.joined(separator: " ")
  }

  /// The beginning of a summary, up to what a list has no room for.
  private static func brief(_ summary: String) -> String {
    String(summary.prefix { !":;,(".contains($0) })
  }

  /// A text between single quotes.
  private static func quoted(_ text: String) -> String {
    text.filter { $0 != "'" && $0 != "\\" }
  }
}
