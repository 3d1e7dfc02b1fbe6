/// The script that completes command lines in bash, where readline takes an address, a file's `@` and an option's value
/// apart, and what is offered stands behind the last part.
enum BashCompletion {
  static var script: String {
    """
    # Completes command lines of gatewayctl in bash: the output of 'gatewayctl completion bash'.
    _gatewayctl_upstreams() {
      \(Completion.upstreams)
    }
    _gatewayctl_events() {
      \(Completion.events)
    }
    _gatewayctl_methods() {
      \(Completion.methods)
    }
    # Offers the files whose names begin with $1, behind the @ that stands for their content; $2 is the word as it was
    # typed, perhaps with a quote in front.
    _gatewayctl_contents() {
      local file
      while IFS= read -r file; do
        [[ ! -d $file ]] || file+=/
        [[ $2 == [\\\"\\']* ]] || printf -v file %q "$file"
        COMPREPLY+=("@$file")
      done < <(compgen -f -- "$1")
      [[ ${#COMPREPLY[@]} != 1 || $COMPREPLY != */ ]] || compopt -o nospace 2>/dev/null
    }
    _gatewayctl() {
      local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
      local command= skip= word words= operands=0 operand= isOperand= goesOn= prefix= socket= upstream= place=0
      [[ $current != '=' ]] || current=
      [[ $previous != '=' ]] || previous=${COMP_WORDS[COMP_CWORD - 2]}
      COMPREPLY=()
      for word in "${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do
        place=$((place + 1))
        # Signs of an address and of a value are words of their own here.
        case "$word" in
          = | =@) skip=${skip:-1}; continue ;;
          :)
            goesOn=1
            [[ -z $isOperand ]] || operand+=:
            continue ;;
          @)
            [[ -z $skip ]] || continue
            if [[ -z $isOperand || $operand != *//* ]]; then
              operands=$((operands + 1))
              operand=
              isOperand=1
            fi
            operand+=@
            goesOn=1
            continue ;;
        esac
        if [[ -n $goesOn ]]; then
          goesOn=
          [[ -z $isOperand ]] || operand+=$word
          [[ $operands != 1 ]] || upstream=$operand
          continue
        fi
        isOperand=
        if [[ -n $skip ]]; then
          [[ $skip != --socket ]] || socket=$word
          skip=
          continue
        fi
        case "$word" in
          --)
            [[ $command == serve ]] || return
            if [[ $COMP_CWORD == $((place + 1)) ]]; then COMPREPLY=($(compgen -c -- "$current")); fi
            compopt -o default 2>/dev/null
            return ;;
          \(Completion.valued.joined(separator: "|")))
            case "$command $word" in \(Completion.flags.map { "'\($0)') ;; " }.joined())*) skip=$word ;; esac ;;
          -*) ;;
          *)
            if [[ -z $command ]]; then
              command=$word
            else
              operands=$((operands + 1))
              operand=$word
              isOperand=1
              [[ $operands != 1 ]] || upstream=$operand
            fi ;;
        esac
      done
      if [[ ${2-} == @* ]]; then
        _gatewayctl_contents "${2#@}" "$current"
        return
      fi
      if [[ $current == : ]]; then
        current=
        goesOn=1
        operand+=:
      fi
      # What is offered stands behind the last colon of an address.
      if [[ -n $goesOn ]]; then
        [[ -n $isOperand ]] || return
        operands=$((operands - 1))
        prefix=$operand
      fi
      case "$command" in
        '')
          words="\(Completion.commands) \(Completion.words(OptionSpecification.common))"
    \(values(OptionSpecification.common, else: nil)) ;;
    \(CommandTable.specifications.map(choice).joined())  esac
      COMPREPLY=($(compgen -W "$words" -- "$prefix$current"))
      COMPREPLY=("${COMPREPLY[@]#"$prefix"}")
    }
    complete -F _gatewayctl gatewayctl

    """
  }

  /// What may follow a command: behind an option its value, else an operand that is known, or an option.
  private static func choice(_ command: CommandSpecification) -> String {
    var text = "    \(command.name.rawValue))\n      words=\"\(Completion.words(command.allOptions))\"\n"
    if !command.choices.isEmpty {
      text += "      [[ $operands != 0 ]] || words+=\" \(command.choices.joined(separator: " "))\"\n"
    }
    if let place = Completion.upstreamPlace(command) {
      text +=
        "      [[ $operands != \(place) || $current == -* ]] || words+=\" $(_gatewayctl_upstreams \"$socket\")\"\n"
    }
    if let place = Completion.eventPlace(command) {
      let comparison = place.isRepeated ? "$operands -ge \(place.first)" : "$operands -eq \(place.first)"
      text += "      [[ ! ( \(comparison) ) || $current == -* ]] ||\n"
      text += "        words+=\" $(_gatewayctl_events \"$socket\" \"$upstream\")\"\n"
    }
    if let place = Completion.methodPlace(command) {
      text += "      [[ $operands != \(place) || $current == -* ]] || words+=\" $(_gatewayctl_methods \"$socket\")\"\n"
    }
    let otherwise = Completion.filePlace(command).map {
      "[[ $operands != \($0) || $current == -* ]] || { compopt -o default 2>/dev/null; return; }"
    }
    return text + values(command.allOptions, else: otherwise) + " ;;\n"
  }

  /// The values of these options; `otherwise` is what to do in other places.
  private static func values(_ options: [OptionSpecification], else otherwise: String?) -> String {
    var text = "      case \"$previous\" in\n"
    for option in options where option.value != nil {
      text += "        \(Completion.forms(option).joined(separator: "|"))) \(value(option)) ;;\n"
    }
    if let otherwise { text += "        *) \(otherwise) ;;\n" }
    return text + "      esac"
  }

  /// Where the value is free, files are offered: nothing else is known.
  private static func value(_ option: OptionSpecification) -> String {
    option.choices.isEmpty
      ? "compopt -o default 2>/dev/null; return" : "words=\"\(option.choices.joined(separator: " "))\""
  }
}
