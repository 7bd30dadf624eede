// SPDX-License-Identifier: Apache-2.0

// The table of verbs and options. The parser, the help, tribunectl(1) and the completions read it.
//
// A text has a verb with its operands, its summary, examples (lines that begin with four spaces and are kept),
// paragraphs, which may be wrapped anywhere, and options. Two spaces end an option's argument: capitals are any
// value, `a|b` one of these words, `a,b` a list of them, SPAN a time span. `Option` has the ranges of numbers.

extension CommandTable {
  static let text = """
    [OPTION…] VERB [ARGUMENT…]

    Posts notifications, and asks for permission, over the Tribune bus.

       --address=unix:PATH      the bus's address; else $TRIBUNE_ADDRESS
       --system                 talk to the system's bus, whatever the environment says
       --user                   talk to the bus of this user's service manager
       --json=short|pretty|off  print JSON, one object a line, or indented
    -j                          like --json=pretty on a terminal, --json=short elsewhere
    -o --output=FORMAT          table, json, yaml, or a text with {FIELD} in it for each entry, such as
                                '{name}: {why}', with the members of the JSON
       --no-legend              print no headers and no totals
       --no-pager               accepted for compatibility; there is never a pager
    -q --quiet                  print no verdict and no ready line, only problems
       --timeout=SPAN           how long to wait for the bus (30s)
       --reconnect=SPAN|infinity
                                how long to look for a bus that is gone (10s); 0 for not at all;
                                infinity also if it says that it stops
    -h --help                   print this help
       --version                print the version
    """
}

extension VerbName {
  var text: String {
    switch self {
    case .list:
      """
      list
      List the connections

          tribunectl list --columns=pid,unit,queued --sort=-queued
          tribunectl list --retained
          tribunectl list -o '{pid} {unit}'

      Lists the connections to the bus, with the registrations and the queue of each. QUEUED is the number of
      bytes that wait for the connection, LOST the number of notifications that it lost. STATE is paused while
      the bus does not read from the connection, because an observer of its posts is slow. It is lossy while
      the connection does not read and loses notifications. It is suspended while the connection wants no
      notifications; with --json, heldBytes is the number of bytes that are buffered for it. It is not
      surviving if the connection would end with the bus, because the keeper has no copy of it, or because the
      log has no space for its registrations.

      With --retained, lists the notifications that the bus has retained, by name and object, with their
      userInfo as far as this user may observe them.

      With --complete, prints the names, objects or connections that are in use, one a line. Words that a
      shell might take for something else are left out.

      On a terminal, texts are cut and columns left out where a line would be too long. In a pipe, lines are
      whole.

         --retained  list the retained notifications
         --complete=names|questions|actions|objects|connections
                     print the words of that kind that are in use, for the completions of shells
         --columns=COLUMN,…  only these columns, in this order
         --sort=COLUMN       sort by this column; with - before it, the largest first
      """
    case .status:
      """
      status [CONNECTION]
      Show the bus, or one connection

          tribunectl status
          tribunectl status :12 -o json

      Shows the figures of the bus; or one connection, :N or N, with its observations and delegates.

      Of a connection that has gone in the last minute, it shows what the bus still knows, and exits with 1.
      """
    case .top:
      #"""
      top
      Watch who waits for whom, and how busy it is

          tribunectl top
          tribunectl top --view=queries --once

      Shows the bus on the terminal, and refreshes it: its delegates with the questions that they have not
      answered and the times that they take, the queries under way and whom they wait for, the connections,
      the names that are asked, and the users. It changes nothing on the bus.

      The delegate that has kept a question for longest is at the top, and ! marks each that a query has
      waited for, for a second or longer. LATE: questions that were not answered in time. FAIL: delegates
      that failed or disconnected. MEDIAN and P99 are the times that
      half and 99 of 100 answers took at most.

      The keys are those of htop: F1 shows them all, q or F10 quits, Tab or 1 to 5 show another table, F5 or t
      shows who waits for whom as a tree, F6 or > sorts by another column, I sorts the other way round, F3 or
      / searches, F4 or \ filters, and Z pauses.

      If the input or the output is no terminal, or if that cannot move its cursor, it prints the table once,
      and ends. With --json, it prints the list that the table is made of.

         --view=delegates|queries|connections|names|users  the table to begin with (delegates)
      -d --delay=SPAN  how often to refresh, from 100ms to 1h (2s)
         --once        print the table once, and end
      """#
    case .monitor:
      """
      monitor [PATTERN…]
      Show all traffic

          tribunectl monitor --exclude=:7
          tribunectl monitor 'host.*' -o json

      Shows each message under names that match, with its sender, its receivers and its outcome, until it is
      interrupted. Without a pattern, it shows every frame, also those without a name.

         --exclude=:N…  leave out what this connection sends, and what goes to it alone
      """
    case .capture:
      """
      capture [PATTERN…]
      Record all traffic, for Wireshark

          tribunectl capture >tribune.pcapng
          tribunectl capture 'host.*' | wireshark -X lua_script:tribune.lua -k -i -

      Writes the frames that monitor would show to standard output, as a pcapng file with a packet for each,
      until it is interrupted. Send it to a file, or into a program. Longer frames are cut to 256 KiB, which
      is as much as Wireshark reads.

      To look at a file, run wireshark -X lua_script:tribune.lua FILE, or tshark -X lua_script:tribune.lua -r
      FILE. The dissector is installed as share/tribune/tribune.lua. To look at the traffic as it comes, pipe
      it into either program with -i - (and -k).

      Messages that were missed while the bus was unreachable are reported on standard error, also with
      --quiet. If their number is unknown, the next packet has a comment that says so.

      Prints "capturing …" on standard error once the bus has confirmed.

      -N COUNT          end after COUNT frames
         --exclude=:N…  leave out what this connection sends, and what goes to it alone
      """
    case .post:
      """
      post NAME [JSON]
      Post a notification

          tribunectl post power.source '{"ac": true}' --retain
          tribunectl post deploy.didEnd 'version 12' --text --wait

      Posts a notification, and returns when the bus has it. JSON is its userInfo; a text is '"text"' there, or
      text with --text. If JSON is -, the userInfo is read from standard input, as it must be from 128 KiB on.

      With --retain, the bus keeps it as the last of its name and object, for observers that want retained
      notifications. Without JSON, --retain clears the kept one, and the notification is delivered like any
      other.

      With --style=asap, it is delivered when the bus has read its present input. With --style=idle, it is
      delivered when the bus has nothing else to do, after 1s at the latest. With --coalesce, it replaces the
      waiting notifications of this user that have the same name, object, or both.

      With --wait, it returns when all --awaited observers have acknowledged it, or at the deadline. Exits
      with 0 if all have acknowledged it, or if there are none; with 1 if not, and names the others; with 255
      if the bus gives no answer.

      With --lines, it posts a notification for each line of standard input as soon as the line is there. Each
      line is JSON, or with --text a text. It ends with the input, or at a line that is no JSON or too long,
      which it names. The lines before have been posted then.

         --object=OBJECT         the object it is about, such as unit/nginx.service
         --retain                keep it for later observers; without JSON, clear the kept one
         --coalesce=name,object  replace waiting notifications like it
         --style=now|asap|idle   when it is delivered (now)
         --wait[=SPAN]           wait for the awaited observers (the bus's default, 30s)
         --immediately           deliver it to suspended observers, too
         --lines                 post a notification for each line of standard input
         --text                  take a text in the place of JSON, and make JSON of it
      """
    case .get:
      """
      get NAME [OBJECT]
      Print what is retained under a name

          tribunectl get power.source
          tribunectl get power.level battery/1 --format='{userInfo.percent}'

      Prints the userInfo of the notification that the bus has retained under NAME for OBJECT, or for no
      object, as it was posted. It is on one line on a terminal.

      Exits with 0 if there is one, 1 if nothing is retained that this user may observe, 2 for wrong usage,
      and 255 if the bus gives no answer.

         --object=OBJECT  the object, like the operand
         --format=TEXT    print TEXT, with {name}, {userInfo.KEY} and so on, as observe does
      """
    case .observe:
      """
      observe PATTERN…
      Print notifications as they come

          tribunectl observe 'power.*' --retained
          tribunectl observe '**' --format='{time} {name} {userInfo.level}'
          tribunectl observe disk.didFill --exec clean-up

      Prints one line for each notification under names that match any of the patterns, until it is
      interrupted. In a pattern, * stands for one token, and a last ** for one or more.

      With --format, it prints TEXT for each notification, with these placeholders filled in: {time}, {name},
      {object}, {userInfo}, and of the poster {sender}, {pid}, {uid}, {process}, {unit}, {systemUnit} and
      {userUnit}. {userInfo.KEY} is a member of JSON, {userInfo.KEY.KEY} a member of that. What is unknown or
      missing is empty. {{ and }} are braces. Losses are reported on standard error.

      With --exec, it runs a command for each notification instead, one after the other. The command gets the
      userInfo on standard input. Its environment has TRIBUNE_NAME, TRIBUNE_OBJECT and TRIBUNE_SENDER (empty
      for the bus itself), and TRIBUNE_SENDER_PID, _UID, _PROCESS, _UNIT, _SYSTEM_UNIT and _USER_UNIT, empty
      where the bus does not know them. TRIBUNE_LOST is the number of notifications that were dropped just
      before this one, else 0. TRIBUNE_INTERRUPTED=1 means that the bus was unreachable and an unknown number
      was missed, TRIBUNE_RETAINED=1 that the notification was retained.

      While a command runs, up to 4096 notifications with 64 MiB wait. Beyond that, the oldest are dropped,
      and the number is reported on standard error. A signal that ends tribunectl, or the time limit of -N,
      ends the running command and starts none for the waiting notifications. If a command cannot be started
      any more, tribunectl ends.

      With --awaited, post --wait waits until the line is written or the command has ended. A command that
      does not exit with 0 has failed.

      Ctrl-Z (SIGTSTP) suspends the observer on the bus until it continues; --suspension says what happens to
      notifications meanwhile. Then it says how many were coalesced, on standard error also with -j. No number
      is reported of those that were dropped at its wish. A running command is not stopped. SIGSTOP suspends
      nothing: the observer is then one that does not read, and what it loses is reported.

      Prints "observing …" on standard error once the bus has confirmed.

         --object=OBJECT  only about this object
      -N COUNT            end after COUNT notifications
         --timeout=SPAN   how long to wait for the bus (30s); with -N, also for the notifications
         --retained       begin with the retained notifications
         --suspension=coalesce|drop|hold|immediately
                          while Ctrl-Z stops it: keep the last of each name and object, drop, keep all, or
                          deliver (coalesce)
         --awaited        have post --wait and guard --wait wait for this observer
         --format=TEXT    print TEXT for each, with {name}, {userInfo.KEY} and so on
         --exec CMD…      run a command for each; takes the rest of the line
      """
    case .ask:
      """
      ask NAME [JSON]
      Ask the delegates, and print the verdict

          tribunectl ask host.shouldReboot && echo allowed
          tribunectl ask unit.shouldStart --object=unit/backup.service
          tribunectl ask backup.shouldPrune --wait-until-allowed=1h

      Asks the delegates of the object, and those of any object, before an action; without --object=, those
      of all objects. NAME is a question's, and ends in should and a verb: host.shouldReboot. If JSON is -,
      the userInfo is read from standard input.

      Exits with 0 if the action is allowed, 1 if it is vetoed, 2 for wrong usage, and 255 if there is no
      verdict, as ExecCondition= expects.

      With --wait-until-allowed, it waits until the action is allowed. After SPAN, the last verdict counts.
      The first question has no longer deadline than that: delegates that have not answered by then have
      failed. It asks again when a hold or a delegate has gone, when a delegate attaches, when the bus reloads
      its configuration or comes back, and when a delegate announces that it may answer otherwise now: for
      host.shouldReboot, by posting host.mayReboot. A script cannot announce that. So if only delegates, or
      other hosts of the cluster, are in the way, it also asks again after 30s. On standard
      error, it prints the vetoes, and later those that are new or have changed, but at most 20 a minute of
      each user but root and its own, and then how many more there were; with --json, it prints these verdicts
      on standard output. --mode=all is the default then. If the bus goes meanwhile and is not back within
      --reconnect, it exits with 255, whatever --if-unreachable says.

      With --scope=cluster, each host of the cluster is asked, and its verdict is one outcome, with the label
      host:HOST. With --scope=host, only this host is asked. With either, the gateway tribune-nats asks the
      delegates, in its own name; the policy must allow the caller to ask scope.cluster.NAME or
      scope.host.NAME. If no gateway answers, there is no verdict. Without --scope, the gateway's
      configuration says which hosts are asked.

      Under a delegate's command, $TRIBUNE_QUERY is the parent of the query.

         --object=OBJECT              the object it is about, such as unit/nginx.service
         --timeout=SPAN               the deadline (the bus's default, 30s)
         --mode=parallel|all|order    ask all until the first veto, all for every veto, or one at a time
                                      (parallel)
         --override=WHY               go past vetoes, and say why
         --dry-run                    tell the delegates that no action will follow
         --default=allow|veto         the verdict if no delegate decides (allow)
         --wait-until-allowed[=SPAN]  while it is vetoed, wait, and ask again when that may be over (for ever)
         --if-unreachable=fail|allow|veto  the verdict if there is no bus at the start (fail: exit with 255)
         --wait-for-bus=SPAN|infinity  how long to wait for a bus at the start (0)
         --scope=host|cluster         whom to ask: this host alone, or each host of the cluster
         --text                       take a text in the place of JSON, and make JSON of it
      """
    case .query:
      """
      query NAME [JSON]
      Ask the delegates for a value

          tribunectl query window.frame --object=window/42
          tribunectl query host.load --collect --scope=cluster

      Asks the delegates of the object, and those of any object, one after the other, and prints the first
      value; without --object=, those of all objects. If JSON is -, the userInfo is read from standard input.

      With --collect, it asks all of them at once, and prints every value. Of delegates that fail, go or do
      not answer in time, such as a host of the cluster that is away, it says so on standard error.

      Exits with 0 if there is a value, 1 if no delegate has one, 2 for wrong usage, and 255 if the bus gives
      no answer.

         --object=OBJECT       the object it is about, such as unit/nginx.service
         --collect             ask all of them, and print every value, one a line
         --timeout=SPAN        the deadline (the bus's default, 30s)
         --scope=host|cluster  whom to ask: this host alone, or each host of the cluster
         --text                take a text in the place of JSON, and make JSON of it
      """
    case .delegate:
      """
      delegate NAME…
      Answer questions for as long as it runs

          tribunectl delegate host.shouldReboot --veto="a demo runs"
          tribunectl delegate backup.shouldPrune --exec /usr/local/bin/may-prune
          tribunectl delegate window.shouldClose            # asks on the terminal

      Joins the object's delegate chain and answers the questions under names that match any NAME, which may
      be a pattern, until it is interrupted. --approve, --veto or --exec gives the answers. Without them, it
      asks on the terminal.

      For the action host.reboot, NAME is host.shouldReboot. With --approve and --veto, each NAME that does not
      end in * must be such a question, or the will or did of an action beside one. Otherwise, it can also be
      that of a query for a value.

      On the terminal, it shows the asker and the subject of one question at a time, and reads y, n, or n and
      a reason. A question that is withdrawn or not answered in time disappears. The delegate ends with its
      input. Open questions have then failed, and count as --on-failure says.

      The command of --exec gets the userInfo on standard input. Its environment has TRIBUNE_NAME,
      TRIBUNE_OBJECT, TRIBUNE_QUERY, TRIBUNE_DELEGATE, and TRIBUNE_ASKER_PID, _UID, _PROCESS, _UNIT,
      _USER_UNIT and _CONNECTION; also TRIBUNE_DRY_RUN=1 if no action will follow. It exits with 0 to approve,
      with 1 to veto with its output as the reason, and with 198 to abstain. Any other status, and a signal,
      is a failure, with the last line of its standard error as the reason, and counts as --on-failure says:
      most tools exit with 2 for a mistake. If it is asked for a value, it writes the value as JSON and exits
      with 0. It is ended when the query is over. In the command, "tribunectl defer" asks for more time than
      --timeout.

      With --concluded, a program learns how each query ended for which the command was to answer, to undo
      what that has prepared. It runs when the command has ended, with the same variables, and TRIBUNE_ENDING,
      which is allowed, vetoed or cancelled: the asker took the question back, or the end cannot be known any
      more. It runs also when tribunectl is told to end, which waits for it. Nothing limits its time.

      At most 64 commands run at a time. A user who asks much leaves some to others, and root and the user
      that runs the delegate may have all that is left. Beyond that, questions wait, and users take turns. Of
      a user, 256 questions may wait, and all may have 64 MiB of userInfo together, which running commands
      have twice; any other has failed.

      Prints each answer with the question, and the length of its userInfo if that has more than 1,024 bytes.
      Of each user but root and its own, it prints at most 20 lines a second, and then how many it left out.
      Prints will- and did-notifications under these names, as observe does.

      A delegate that has vetoed host.shouldReboot, and would not any more, says so with "tribunectl post
      host.mayReboot". Then those ask again that wait with --wait-until-allowed. They also notice its end.

      With --directory=DIR and no NAME, each executable DIR/NAME/FILE is a delegate called FILE that responds
      to NAME, and is run like the command of --exec. The files are asked in the order of their names.
      FILE.concluded is run like the program of --concluded. New files, removed files and changed permissions
      take effect at once. A link to a missing file, and a file that only others may execute, fail. Names that
      begin with . or end with ~, .dpkg-* or .rpm* are ignored.

      Prints "attached …" on standard error once the bus has confirmed.

         --object=OBJECT            the object whose delegate it is (any)
         --approve                  approve everything
         --veto=REASON              veto everything
         --exec CMD…                let a command answer; takes the rest of the line
         --concluded=PROGRAM        with --exec: tell PROGRAM how each query has ended
         --directory=DIR            let the executables in DIR/NAME/ answer
         --order=N                  place in the chain: lower is asked earlier (0)
         --on-failure=veto|abstain  what a timeout or a failure counts as (veto)
         --timeout=SPAN             time for an answer (the bus's default, 5s; on the terminal 1min)
         --set                      replace the object's other delegates, which end; without --object,
                                    those without an object for some of the same names
         --conforms=PROTOCOL,…      the protocols that it conforms to, with commas between
         --label=TEXT               its name in verdicts
      """
    case .guard:
      """
      guard ACTION [JSON] -- CMD…
      Run a command unless it is vetoed

          tribunectl guard backup.run --veto-exit-code=199 -- restic backup /srv
          case $? in
            0) echo "done" ;;
            199) echo "vetoed: nothing has run" ;;
            255) echo "no verdict: nothing has run" ;;
            *) echo "restic has failed" ;;
          esac

      For the action window.close, asks window.shouldClose. If that is allowed, posts window.willClose, runs
      the command, and posts window.didClose, or window.didFailToClose with the failure. JSON is the userInfo
      of all but the last.

      Exits with 77 on a veto, and with 255 if there is no verdict, or if the will cannot be posted: then it
      has run nothing. Else exits with the command's status.

      It prints every reason of a veto; with --json, the verdict on standard output. Vetoes that --override
      goes past are printed on standard error before the command runs.

      The command may exit with 77 or 255, too: a script that has to know chooses a status that its command
      never has, as the example does.

      Where the bus has a policy, it must allow ask for the question, and post for the other three, also
      didFailTo. Else guard exits with 255 before it asks. --dry-run only asks: it can say allowed where the
      policy does not let the others be posted.

      If the connection is lost while the command runs, tribunectl tries to reconnect for 10s, or for as long
      as --reconnect says. The bus then has 5s to accept the outcome of the command. If there is no bus,
      tribunectl reports that; the exit status stays the command's. The command does not inherit the
      connection, so it may run with fewer privileges than tribunectl.

      With --wait, the command runs when all --awaited observers of window.willClose have acknowledged it, or
      at the deadline. Then tribunectl names those that have not, and continues.

      With --wait-until-allowed, it waits and asks again as ask does, and prints the vetoes on standard error.
      If there still is one after SPAN, it exits as on a veto.

         --object=OBJECT              the object it is about, such as unit/nginx.service
         --wait[=SPAN]                wait for the awaited observers (the bus's default, 30s)
         --timeout=SPAN               the deadline (the bus's default, 30s)
         --mode=parallel|all|order    ask all until the first veto, all for every veto, or one at a time (all)
         --override=WHY               go past vetoes, and say why
         --dry-run                    print the verdict, and run nothing
         --default=allow|veto         the verdict if no delegate decides (allow)
         --wait-until-allowed[=SPAN]  while it is vetoed, wait, and ask again when that may be over (for ever)
         --if-unreachable=fail|allow|veto  the verdict if there is no bus at the start (fail: exit with 255)
         --wait-for-bus=SPAN|infinity  how long to wait for a bus at the start (0)
         --scope=host|cluster         whom to ask: this host alone, or each host of the cluster
         --veto-exit-code=STATUS      the exit status for a veto (77)
         --text                       take a text in the place of JSON, and make JSON of it
      """
    case .explain:
      """
      explain NAME
      Show the delegates that would be asked

          tribunectl explain host.shouldReboot
          tribunectl explain unit.shouldStart --object=unit/backup.service

      Shows the holds that a query would meet, the required delegates that are missing, and the delegates that
      it would be put to, in order, with their policies. No delegate is asked. NAME is that of a question or of
      a value, and not that of an action.

      With --scope=cluster, shows those of each host of the cluster. If one does not answer, or does not let
      other hosts ask NAME, says so and exits with 1.

         --object=OBJECT       the object it is about, such as unit/nginx.service
         --scope=host|cluster  whose: of this host alone, or of each host of the cluster
      """
    case .hold:
      """
      hold [NAME…] [-- CMD…]
      Veto for as long as it or a command runs

          tribunectl hold --action=host.reboot --why=backup -- restic backup /srv
          tribunectl hold backup.shouldPrune@repo/main --why="a restore runs"
          tribunectl hold 'host.*' --why=maintenance --expires=2h

      Vetoes all queries under names that match any NAME, which may be a pattern, until it is interrupted or
      the hold expires. A NAME that does not end in * must be a question, such as host.shouldReboot. With
      NAME@OBJECT, and ACTION@OBJECT, it is only about that object. Give --action once for each ACTION.

      With a command, it runs the command, passes signals on to it, holds until it has ended, and exits with
      its status. If the hold is not taken, it runs nothing and exits with 255, unless
      --if-unreachable=run says otherwise. Then it runs the command all the same, says why, and takes the
      hold as soon as it can.

      If the bus goes, stops, or ends the hold while the command or the process of --pid runs, tribunectl says
      so, tries to take the hold again for as long as that runs, and says when it is in force again.
      --reconnect does not limit that.

      The command inherits the connection: the hold stands while it runs, even if tribunectl is killed, unless
      it was taken again meanwhile. The command cannot use the connection: with anything that it writes to the
      descriptor, the bus ends the connection and the hold. So it may run with fewer privileges than
      tribunectl. It can end the hold, and read what the bus sends about it.

      With --why-from, each line of FILE, which is best a pipe that mkfifo has made, becomes the reason: "backup
      at 40 %". Nobody who waits is woken by that. The command then does not inherit the connection, and the
      hold ends with tribunectl.

      Prints "holding …" on standard error once the bus has confirmed. After a lost connection is restored, it
      reports whether the hold was in force all the time.

         --object=OBJECT  only about this object; for one NAME or ACTION
         --why=REASON     the reason in verdicts; required
         --why-from=FILE  lines that change the reason, each when it comes; - is stdin
         --action=ACTION…
                          veto what guard ACTION asks: for host.reboot, host.shouldReboot
         --expires=SPAN   when the hold ends by itself (never)
         --label=TEXT     who holds, in verdicts and lists (the name of the command, or of the caller)
         --pid=PID        hold until that process has ended
         --if-unreachable=fail|run     whether to run the command if the hold is not taken at the start (fail:
                                       exit with 255)
         --wait-for-bus=SPAN|infinity  how long to wait for a bus at the start (0)
      """
    case .holds:
      """
      holds
      List the holds

          tribunectl holds --sort=-age
          tribunectl holds -o '{name}: {why}'
          tribunectl holds --scope=cluster

      Lists the holds, with their owners and reasons. With --scope=cluster, those of each host of the cluster,
      as far as they are about names that other hosts may ask. If one does not answer, says so and exits with
      1.

         --scope=host|cluster  whose: of this host, or of each host of the cluster (host)
         --columns=COLUMN,…  only these columns, in this order
         --sort=COLUMN       sort by this column; with - before it, the largest first
      """
    case .lease:
      """
      lease LEASE [-- CMD…]
      Run a command on one host at a time

          tribunectl lease upgrade -- apt-get --yes upgrade
          tribunectl lease reboot --keep && systemctl reboot
          tribunectl lease reboot --release

      Waits until this host has the LEASE, which one host of the cluster can have at a time (or as many as
      --slots says), runs the command, and exits with its status. LEASE is a name, such as reboot. It needs
      tribune-nats on each host. On one host, one command at a time has the lease.

      If the command exits with 0, the host releases the lease. Otherwise, it keeps it, so that whatever went
      wrong does not happen to the next host. It also keeps it with --keep, or if tribunectl is killed, or if
      the host goes down: no clock releases a lease. A host that has it gets it again when it asks, also after
      a reboot.

      Without a command, --keep only takes the lease: before a reboot, for example. A unit that is started
      once the host works again says --release.

      With --break, a host that does not come back loses it. Make sure first that the host is not doing what
      the lease is for. The journal and the notification cluster.lease.didBreak say who has done that, and
      why.

      Exits with 75 if the lease did not become free in time, and with 255 if there is no cluster, or if it is
      not known whether the host has the lease: then nothing runs.

         --slots=COUNT  how many hosts may have it at a time (1)
         --wait[=SPAN]  how long to wait for it (for ever); 0 for not at all
         --keep         keep it also if the command succeeds
         --release      release what this host has kept
         --break=HOST   take it from that host
         --why=REASON   why it is taken; required with --break
      """
    case .leases:
      """
      leases
      List the leases of the cluster

          tribunectl leases
          tribunectl leases -o '{lease} {owners.0.host}'

      Lists the leases of the cluster, with the hosts that have them. STATE is gone if the host is not there:
      it may be rebooting, or be gone for good. It is kept if this host has the lease, and no command runs
      under it any more; so it is of a client of FleetLock, whose HOST is fleetlock:ID.

         --columns=COLUMN,…  only these columns, in this order
         --sort=COLUMN       sort by this column; with - before it, the largest first
      """
    case .accounts:
      """
      accounts
      Show what each user has, and may have

          tribunectl accounts --sort=-used

      Lists what users have of what all users of the bus share: connections, descriptors under way, bytes of
      frames that are not whole (partial-frames), of the log and of retained notifications, registrations,
      protocols that declarations define, bytes that were not read (queues), and files that were sent and not
      received (unread-files). SHARE is what the user may have at the moment; it depends on what others have.
      With -j, also what a user has nothing of.

      Everybody may see the account of their own user. Others' are shown to those who may list everything.

         --columns=COLUMN,…  only these columns, in this order
         --sort=COLUMN       sort by this column; with - before it, the largest first
      """
    case .defer:
      """
      defer QUERY SPAN
      Ask for more time to answer a query

          tribunectl defer "$TRIBUNE_QUERY" 2min --status="flushing"

      Gives a delegate of this user SPAN from now for its answer. It is meant for programs under the delegate.
      The asker gets a report, and its own deadline still holds.

      Under a delegate's command, the query is $TRIBUNE_QUERY, and its delegate is the one that defers.
      Elsewhere, it is the one delegate of this user that the query waits for.

         --status=TEXT  a status for the asker
         --delegate=ID  which delegate defers
      """
    case .declare:
      """
      declare OBJECT PROTOCOL
      Declare an object for as long as it runs

          tribunectl declare window/42 WindowDelegate --definitions=window.protocol

      Declares the protocol of an object's delegates, until it is interrupted. OBJECT cannot have a wildcard;
      patterns of objects are for tribuned.conf.

      Prints "declared …" on standard error once the bus has confirmed.

         --definitions=FILE  protocols that the bus knows meanwhile; - is stdin
      """
    case .tree:
      """
      tree
      Show the objects as a tree

          tribunectl tree

      Shows the objects that are declared or have delegates, by the / in their names, with their protocols.
      """
    case .introspect:
      """
      introspect OBJECT|PROTOCOL
      Show the messages of a protocol

          tribunectl introspect window/42
          tribunectl introspect WindowDelegate

      Shows the messages of an object's protocol, or of the protocol with that name, and the origin of
      inherited ones.

         --columns=COLUMN,…  only these columns, in this order
         --sort=COLUMN       sort by this column; with - before it, the largest first
      """
    case .policy:
      """
      policy explain ACTION NAME
      Show what the policy decides, and why

          tribunectl policy explain ask host.shouldReboot --as=backup
          tribunectl policy explain hold 'host.*' --pid=1234

      Shows whether the policy of the bus allows ACTION with NAME, which may be a pattern, and which line
      decides. If no line allows it, also shows the lines that would allow it if one thing were different.
      Nothing is done. The actions are in tribune-policy(5).

      NAME is ** for declare, which is about all names, and for list if it is about everything.

      Without an option, it is about tribunectl's own connection.

      Exits with 0 if the action is allowed, 1 if not, and 2 for wrong usage, such as an unknown ACTION.

         --object=OBJECT  only about this object
         --as=USER        decide about this user, by its name or its id
         --pid=PID        decide about this process
         --connection=:N  decide about this connection
      """
    case .verify:
      """
      verify FILE…
      Check protocol and policy files

          tribunectl verify /etc/tribune/policy.d/*.policy
          tribunectl verify window.protocol

      Reads the .protocol files together, as the bus reads protocols.d, and prints every mistake as
      FILE:LINE:COLUMN: MESSAGE. A file called - is the standard input, with protocols. No bus is needed.

      Reads the .policy files together, as the bus reads policy.d, and checks them against the expectations in
      the .test files. A user or group that this host does not have is a warning in a line that allows, and a
      mistake in one that denies. A line that nobody can meet is a warning.

      Exits with 0 if there is no mistake, else with 1.
      """
    case .log:
      """
      log [NAME]
      Show the verdicts of the past

          tribunectl log host.shouldReboot --vetoed --since=today
          tribunectl log --summary --since=7d

      Shows the queries under names that match NAME, which may be a pattern, with their verdicts, vetoes and
      reasons, the newest last: from the bus if it writes to no journal and keeps its last verdicts itself,
      else from the journal, for which no bus is needed.

      A time is a span before now (2h), today, yesterday, or 23:10, 2026-11-20 or "2026-11-20 23:10", in local
      time. A day stands for its first moment.

      UNIT is a unit of the system, in which * stands for any text and ? for one character. Processes of a
      user's service manager are in user@UID.service, or in user@UID.service/UNIT with the unit of that
      manager. Verdicts with a veto that the asker overrode are allowed: they count with --by, not with
      --vetoed.

      With --follow, it begins with the last 10 verdicts, unless --since or -n says otherwise. It prints
      "following …" on standard error when it has printed those, and ends when it is interrupted.

      With --summary, it prints a row for each name, the most vetoed first: the median, the 99th percentile
      and the longest of the times from question to verdict, and how often it was asked, allowed and vetoed.
      Below it is in how many of these verdicts each unit vetoed, the busiest first; who is in no unit has a
      label, in quotation marks. Median and percentile may be 3% too long. Entries that a user other than root
      and yours has written are counted apart. Beyond 512 names, and beyond 64 vetoers of a name, further ones
      are counted together, and it says so.

         --object=OBJECT  only about this object
         --since=TIME     only since this time
         --until=TIME     only until this time
         --vetoed         only vetoed ones
         --by=UNIT        only those that a delegate or hold of this unit vetoed
      -n COUNT            only the last COUNT verdicts
      -f --follow         print further verdicts as they come
         --summary        print how often each name was asked, allowed and vetoed, and by whom
         --directory=DIR  read the journal's files in DIR
      """
    case .completion:
      """
      completion SHELL
      Print the completion script of a shell

          source <(tribunectl completion bash)
          tribunectl completion zsh >"${fpath[1]}/_tribunectl"
          tribunectl completion fish >~/.config/fish/completions/tribunectl.fish

      Prints the script with which bash, zsh or fish completes command lines of tribunectl. Packages install
      it already.
      """
    case .help:
      """
      help [VERB]
      Explain tribunectl, or one verb

          tribunectl help hold
          tribunectl help --full hold   # all that there is to say
          tribunectl help names         # which name of an action each verb takes

      Prints examples and options of a verb; with --full, also what it does in every case, and the options of
      every verb.

         --full  print all that there is to say, as tribunectl(1) has it
      """
    case .version:
      """
      version
      Print the version
      """
    }
  }
}
