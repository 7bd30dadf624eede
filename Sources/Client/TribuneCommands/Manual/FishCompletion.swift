// SPDX-License-Identifier: Apache-2.0

/// The option table as a completion script for fish(1).
struct FishCompletion {
  private let table = CommandTable.self

  var text: String {
    """
    # fish completion for tribunectl
    # Made from tribunectl's table of options.

    \(lines.joined(separator: "\n"))

    """
  }

  private var lines: [String] {
    let valued = table.distinctOptions.filter(\.takesWord)
    let letters = valued.compactMap { $0.letter.map { String($0) } }.joined()
    let long = valued.compactMap { $0.name.map { "--\($0)" } }.joined(separator: " ")
    let executing = table.distinctOptions.filter { $0.completion == .command }.flatMap(\.spellings)
    let commanding = table.verbs.filter(\.takesCommand).map(\.verb.rawValue)
    return [
      "set -g __tribunectl_letters '\(letters)'",
      "set -g __tribunectl_valued \(long)",
      "set -g __tribunectl_executing \(executing.joined(separator: " "))",
      "set -g __tribunectl_commanding \(commanding.joined(separator: " "))",
      Self.program,
      "complete -c tribunectl -f",
      "complete -c tribunectl -n '__tribunectl_at command' -xa '(__tribunectl_command)'",
    ]
      + table.verbs.map {
        "complete -c tribunectl -n '__tribunectl_at verb' -xa \($0.verb.rawValue) -d \(quoted($0.summary))"
      }
      + table.globals.map { line(for: $0, where: "__tribunectl_at options") }
      + table.verbs.flatMap { verb in
        verb.options.map { line(for: $0, where: "__tribunectl_at options \(verb.verb.rawValue)") }
      }
      + table.verbs.flatMap { verb in
        verb.completions.enumerated().compactMap { place, completion in
          let repeats = verb.repeatsLast && place == verb.completions.count - 1
          let condition = repeats ? "options \(verb.verb.rawValue)" : "operand \(verb.verb.rawValue) \(place)"
          return operand(completion).map { "complete -c tribunectl -n '__tribunectl_at \(condition)' \($0)" }
        }
      }
  }

  private func line(for row: OptionSyntax, where condition: String) -> String {
    var words = ["complete -c tribunectl -n '\(condition)'"]
    if let letter = row.letter { words.append("-s \(letter)") }
    if let name = row.name { words.append("-l \(name)") }
    if row.takesWord { words.append(value(row.completion)) }
    return (words + ["-d \(quoted(row.summary))"]).joined(separator: " ")
  }

  private func value(_ completion: Completion) -> String {
    switch completion {
    case .list(let words): "-xa '(__tribunectl_list \(words.joined(separator: " ")))'"
    case .files: "-rF"
    case .folders: "-xa '(__fish_complete_directories)'"
    case .nothing, .verbs, .command: "-x"
    case .words, .live: operand(completion) ?? "-x"
    }
  }

  private func operand(_ completion: Completion) -> String? {
    switch completion {
    case .words(let words): "-xa '\(words.joined(separator: " "))'"
    case .files: "-F"
    case .verbs: "-xa '\(table.verbs.map(\.verb.rawValue).joined(separator: " "))'"
    case .live(let words): "-xa '(__tribunectl_live \(words.rawValue))'"
    case .nothing, .list, .folders, .command: nil
    }
  }

  private func quoted(_ text: String) -> String {
    "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
  }

  private static let program = #"""

    # Prints the verb before the cursor and the number of its operands, and the index of the word that begins a command,
    # if there are such.
    function __tribunectl_scan
        set -l verb
        set -l operands 0
        set -l waiting no
        set -l dashes no
        set -l words (commandline -opc)
        for place in (seq 2 (count $words))
            set -l word $words[$place]
            if test $waiting = yes
                set waiting no
            else if test $dashes = yes; or test "$word" = -; or not string match -q -- '-*' $word
                if set -q verb[1]
                    set operands (math $operands + 1)
                else
                    set verb $word
                end
            else if test "$word" = --
                if set -q verb[1]; and contains -- $verb $__tribunectl_commanding
                    echo $verb
                    echo $operands
                    echo $place
                    return
                end
                set dashes yes
            else if contains -- $word $__tribunectl_executing
                set -q verb[1]; or set verb ''
                echo $verb
                echo $operands
                echo $place
                return
            else if contains -- $word $__tribunectl_valued
                set waiting yes
            else if string match -qr -- "^-[^-$__tribunectl_letters]*[$__tribunectl_letters]\$" $word
                set waiting yes
            end
        end
        if set -q verb[1]
            echo $verb
            echo $operands
        end
    end

    # __tribunectl_at verb|options [VERB]|operand VERB PLACE|command: whether the word at the cursor can be that.
    function __tribunectl_at
        set -l found (__tribunectl_scan)
        switch $argv[1]
            case verb
                test (count $found) = 0
            case options
                test (count $found) -lt 3; and begin
                    not set -q argv[2]; or test "$found[1]" = $argv[2]
                end
            case operand
                test "$found" = "$argv[2..]"
            case command
                test (count $found) = 3
        end
    end

    # __tribunectl_list WORD…: the list at the cursor, up to the last comma, with each word that is not in it yet.
    function __tribunectl_list
        set -l given (commandline -ct | string replace -r '^--[^=]*=' '' | string match -r '.*,')
        for word in $argv
            contains -- $word (string split -- , "$given"); or echo "$given$word"
        end
    end

    # __tribunectl_live KIND: what the bus has of that kind.
    function __tribunectl_live
        command -q tribunectl; or return
        set -l bus (commandline -opc | string match -r -- '^--(?:system|user|address=.*)$')
        command tribunectl $bus list --complete=$argv[1] --timeout=1 2>/dev/null </dev/null
    end

    function __tribunectl_command
        set -l place (math (__tribunectl_scan)[3] + 1)
        set -l words (commandline -opc)
        complete -C (string join -- ' ' (string escape -- $words[$place..]) (commandline -ct))
    end

    """#
}
