// SPDX-License-Identifier: Apache-2.0

/// The option table as a completion script for bash(1).
struct BashCompletion {
  private let table = CommandTable.self

  var text: String {
    """
    # bash completion for tribunectl                                  -*- shell-script -*-
    # Made from tribunectl's table of options.

    \(tables)
    \(Self.program)
    """
  }

  private var tables: String {
    let rows = table.distinctOptions
    let values = rows.filter(\.takesWord).flatMap { row in
      row.spellings.map { entry($0, word(for: row.completion)) }
    }
    let operands = table.verbs.flatMap { verb in
      verb.completions.enumerated().map { place, completion in
        let repeats = verb.repeatsLast && place == verb.completions.count - 1
        return entry("\(verb.verb.rawValue)\(repeats ? "" : "/\(place)")", word(for: completion))
      }
    }
    let isGlobal = { (row: OptionSyntax) in table.globals.contains { $0.option == row.option } }
    return """
      _tribunectl_tables() {
        verbs='\(table.verbs.map(\.verb.rawValue).joined(separator: " "))'
        globals='\(offers(of: table.globals))'
        # The options of each verb, besides the globals.
        options=(
      \(table.verbs.map { entry($0.verb.rawValue, offers(of: $0.options.filter { !isGlobal($0) })) }.joined(separator: "\n"))
        )
        # The options whose value is the next word, with the words for it, or a rule that begins with @.
        values=(
      \(values.joined(separator: "\n"))
        )
        # The operands of the verbs; behind a slash, the place of the one operand that the words are for.
        operands=(
      \(operands.joined(separator: "\n"))
        )
        # After these, a command takes the rest of the line.
        executing=' \(rows.filter { $0.completion == .command }.flatMap(\.spellings).joined(separator: " ")) '
        commanding=' \(table.verbs.filter(\.takesCommand).map(\.verb.rawValue).joined(separator: " ")) '
      }

      """
  }

  private func entry(_ key: String, _ value: String) -> String { "    [\(key)]='\(value)'" }

  private func offers(of rows: [OptionSyntax]) -> String {
    rows.flatMap { row in
      row.spellings.map { row.takesWord && $0.hasPrefix("--") ? "\($0)=" : $0 }
    }.joined(separator: " ")
  }

  private func word(for completion: Completion) -> String {
    switch completion {
    case .nothing: ""
    case .words(let words): words.joined(separator: " ")
    case .list(let words): "@list \(words.joined(separator: " "))"
    case .verbs: "@verbs"
    case .files: "@files"
    case .folders: "@folders"
    case .live(let words): "@live \(words.rawValue)"
    case .command: "@command"
    }
  }

  private static let program = #"""
    # _tribunectl_offer WHAT WORD PREFIX: replies with the completions of WORD after PREFIX. A space ends a complete word.
    _tribunectl_offer() {
      local what=$1 word=$2 prefix=$3 reply
      case $what in
        @files | @folders)
          # Readline adds quotes, and the space or slash after a name.
          compopt -o filenames +o nospace 2>/dev/null
          local kind=-f
          [[ $what == @files ]] || kind=-d
          while IFS= read -r reply; do COMPREPLY+=("$prefix$reply"); done < <(compgen "$kind" -- "$word")
          return
          ;;
        @live*)
          # Only words that need no quotes come.
          while IFS= read -r reply; do
            [[ $reply != "$word"* ]] || COMPREPLY+=("$prefix$reply ")
          done < <(command tribunectl "${bus[@]}" list --complete="${what#@live }" --timeout=1 2>/dev/null </dev/null)
          return
          ;;
        @list*)
          # The words that are not in the list yet, with a comma between.
          local given=
          [[ $word != *,* ]] || given=${word%,*},
          for reply in ${what#@list}; do
            if [[ ,$given != *,$reply,* && $reply == "${word#"$given"}"* ]]; then
              COMPREPLY+=("$prefix$given$reply ")
            fi
          done
          return
          ;;
        @verbs) what=$verbs ;;
      esac
      for reply in $what; do
        [[ $reply == "$word"* ]] || continue
        [[ $reply == *= ]] || reply+=' '
        COMPREPLY+=("$prefix$reply")
      done
    }

    # _tribunectl_command PLACE: completes the words from COMP_WORDS[PLACE] on as a command line.
    _tribunectl_command() {
      compopt +o nospace 2>/dev/null
      if declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "$1"
      elif declare -F _command_offset >/dev/null; then
        _command_offset "$1"
      else
        local kind=-f reply
        if ((COMP_CWORD == $1)); then kind=-c; else compopt -o filenames 2>/dev/null; fi
        while IFS= read -r reply; do COMPREPLY+=("$reply"); done < <(compgen "$kind" -- "${COMP_WORDS[COMP_CWORD]}")
      fi
    }

    _tribunectl() {
      local verbs globals executing commanding
      local -A options values operands
      _tribunectl_tables
      COMPREPLY=()

      # Bash splits words at = and : too. These words are split at spaces only, and the last one ends at the cursor.
      # starts[] has the index of the first of bash's words in each.
      local -a words=() starts=()
      local line=${COMP_LINE:0:COMP_POINT} gap piece i
      for ((i = 0; i <= COMP_CWORD; i++)); do
        gap=${line%%[![:space:]]*}
        line=${line#"$gap"}
        piece=${COMP_WORDS[i]}
        ((i < COMP_CWORD)) || piece=$line
        if [[ $i == 0 || $gap ]]; then
          words+=("$piece")
          starts+=("$i")
        else
          words[-1]+=$piece
        fi
        line=${line#"$piece"}
      done
      local current=${words[-1]} last=$((${#words[@]} - 1))

      # Finds the verb before the cursor, and an option whose value is the word at the cursor.
      local verb='' waiting='' word letters operand=0 dashes=''
      local -a bus=()
      for ((i = 1; i < last; i++)); do
        word=${words[i]}
        if [[ $waiting ]]; then
          [[ $waiting != --address ]] || bus=("--address=$word")
          waiting=
        elif [[ $dashes || $word == - || $word != -* ]]; then
          if [[ $verb ]]; then operand=$((operand + 1)); else verb=$word; fi
        elif [[ $word == -- ]]; then
          if [[ $verb && $commanding == *" $verb "* ]]; then
            _tribunectl_command "${starts[i + 1]}"
            return
          fi
          dashes=yes
        elif [[ $executing == *" $word "* ]]; then
          _tribunectl_command "${starts[i + 1]}"
          return
        elif [[ $word == --* ]]; then
          [[ $word != --@(system|user|address=*) ]] || bus=("$word")
          [[ ! ${values[$word]+known} ]] || waiting=$word
        else
          # After one dash, the value of a letter is the rest of the word, or else the next word.
          for ((letters = 1; letters < ${#word}; letters++)); do
            if [[ ${values[-${word:letters:1}]+known} ]]; then
              ((letters + 1 < ${#word})) || waiting=-${word:letters:1}
              break
            fi
          done
        fi
      done

      if [[ $waiting ]]; then
        _tribunectl_offer "${values[$waiting]}" "$current" ''
      elif [[ ! $dashes && $current == --*=* ]]; then
        word=${current%%=*}
        [[ ! ${values[$word]+known} ]] || _tribunectl_offer "${values[$word]}" "${current#*=}" "$word="
      elif [[ ! $dashes && $current == -* ]]; then
        # The verb's own options come first.
        compopt -o nosort 2>/dev/null
        _tribunectl_offer "${verb:+${options[$verb]-}} $globals" "$current" ''
      elif [[ ! $verb ]]; then
        _tribunectl_offer @verbs "$current" ''
      else
        _tribunectl_offer "${operands[$verb/$operand]-${operands[$verb]-}}" "$current" ''
      fi

      # Bash keeps the part before the last of its breaks, so the replies must not repeat it.
      local breaks=${COMP_WORDBREAKS//[!=:]/}
      if [[ $breaks && $current == *[$breaks]* ]]; then
        piece=${current%"${current##*[$breaks]}"}
        COMPREPLY=("${COMPREPLY[@]#"$piece"}")
      fi
    }

    complete -o nospace -F _tribunectl tribunectl

    """#
}
