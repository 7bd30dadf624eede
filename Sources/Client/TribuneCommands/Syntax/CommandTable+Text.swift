// SPDX-License-Identifier: Apache-2.0

// The table of verbs and options. The parser, the help, tribunectl(1) and the completions read it.
//
// The text of a verb has its operands, summary, examples, paragraphs and options. Lines that begin with four
// spaces are examples, and are kept as they are. Paragraphs may be wrapped anywhere. Two spaces end an
// option's argument. In an argument, capitals stand for any value, and SPAN for a time span. `a|b` stands for
// one of the words a and b, and `a,b` for a list of such words. `Option` has the ranges of numbers.

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

      Lists the connections to the bus, each with its registrations and its queue. QUEUED counts the bytes
      that wait for it, LOST its lost notifications. STATE is paused while the bus does not read from the
      connection, because an observer of its posts is slow; lossy while the connection does not read and loses
      notifications; suspended while it wants none (with --json, bufferedBytes counts the buffered bytes). STATE
      also has "not surviving" if a restart of the bus would close the connection: the keeper has no copy of
      it, or the log has no space for its registrations.

      With --retained, lists the retained notifications by name and object, with the userInfo that this user
      may observe.

      With --complete, prints the names, objects or connections in use, one per line, without words that a
      shell could misread.

      On a terminal, texts are cut and columns omitted to fit. In a pipe, lines are whole.

         --retained  list the retained notifications
         --complete=names|questions|actions|objects|connections
                     print the words of that kind in use, for shell completion
         --columns=COLUMN,…  only these columns, in this order
         --sort=COLUMN       sort by this column; -COLUMN: the largest first
      """
    case .status:
      """
      status [CONNECTION]
      Show the bus, or one connection

          tribunectl status
          tribunectl status :12 -o json

      Shows the statistics of the bus; or one connection, :N or N, with its observations and delegates.

      If the connection has gone in the last minute, shows what the bus still knows, and exits with 1.
      """
    case .top:
      #"""
      top
      Watch who waits for whom, and the load

          tribunectl top
          tribunectl top --view=queries --once

      Shows the bus on the terminal, and refreshes it: delegates with their unanswered questions and response
      times, queries under way with those they wait for, connections, names that are asked, and users. It
      changes nothing on the bus.

      The delegate with the oldest unanswered question is at the top. ! marks those that have kept a query
      waiting for at least a second. LATE: questions that were not answered in time. FAIL: delegates that
      failed or disconnected. MEDIAN and P99: half of the answers, and 99 of 100, took at most this long.

      The keys are htop's: F1 shows them all, q or F10 quits, Tab or 1 to 5 switch tables, F5 or t shows who
      waits for whom as a tree, F6 or > sorts by another column, I reverses the order, F3 or / searches, F4 or
      \ filters, and Z pauses.

      With --json, or without a terminal that can move its cursor, it prints the table once, and ends.

         --view=delegates|queries|connections|names|users  the first table (delegates)
      -d --delay=SPAN  how often to refresh, from 100ms to 1h (2s)
         --once        print the table once, and end
      """#
    case .monitor:
      """
      monitor [PATTERN…]
      Show all traffic

          tribunectl monitor --exclude=:7
          tribunectl monitor 'host.*' -o json

      Shows each message under matching names, with its sender, receivers and outcome, until interrupted.
      Without a pattern, shows every frame, also those without a name.

         --exclude=:N…  omit frames from this connection, or only to it
      """
    case .capture:
      """
      capture [PATTERN…]
      Record all traffic, for Wireshark

          tribunectl capture >tribune.pcapng
          tribunectl capture 'host.*' | wireshark -X lua_script:tribune.lua -k -i -

      Writes to standard output, as pcapng, the frames that monitor would show, one per packet, until
      interrupted. Redirect it to a file, or into a program. Frames are cut to 256 KiB, Wireshark's limit.

      To read a file, run wireshark -X lua_script:tribune.lua FILE, or tshark -X lua_script:tribune.lua -r
      FILE. To watch live traffic, pipe it into either program with -i - (and -k). The dissector is installed
      as share/tribune/tribune.lua.

      On standard error, also with --quiet, it reports the messages missed while the bus was unreachable. If
      their number is unknown, a comment in the next packet says so.

      Prints "capturing …" on standard error once the bus has confirmed.

      -N COUNT          end after COUNT frames
         --exclude=:N…  omit frames from this connection, or only to it
      """
    case .post:
      """
      post NAME [JSON]
      Post a notification

          tribunectl post power.source '{"ac": true}' --retain
          tribunectl post deploy.didEnd 'version 12' --text --wait
          tribunectl post log.line --lines --text --pace=forever
          tribunectl post svc.status '{"up": true}' --bound --exec svc --foreground

      Posts a notification, and returns when the bus has it. JSON is its userInfo. To post a text, write
      '"text"', or text with --text. If JSON is -, reads it from standard input, which is necessary from 128
      KiB on.

      With --retain, the bus keeps it as the last of its name and object, for observers that want retained
      notifications. Without JSON, --retain clears the kept one, and the bus delivers the notification as
      usual.

      With --bound, keeps it only while tribunectl runs, or the command of --exec. Afterwards, the bus removes
      it, and observers get the notification without JSON. After a loss of the bus, tribunectl posts it again.

      With --style=asap, the bus delivers it after reading its present input; with --style=idle, when it has
      nothing else to do, after 1s at the latest. With --coalesce, it replaces this user's waiting
      notifications that have the same name, object, or both.

      With --wait, returns when all --awaited observers have acknowledged it, or at the deadline. Exits with 0
      if all have, or there are none; with 1 if not, and names the others; with 255 if the bus does not
      answer.

      With --lines, posts a notification for each line of standard input as it arrives. Each line is JSON, or
      with --text a text. Ends with the input, or at a line that is too long or not JSON, and names that line.
      The lines before it have been posted.

      The bus pauses a poster whose observers are slow, but only for 100 ms (PaceMaxSec=). Then they lose
      notifications. With --pace=forever, the lines wait for their slowest observer instead.

         --object=OBJECT         its object, such as unit/nginx.service
         --retain                keep it for later observers; without JSON, clear the kept one
         --bound                 keep it until tribunectl, or the command of --exec, ends
         --coalesce=name,object  replace similar waiting notifications
         --style=now|asap|idle   when to deliver it (now)
         --wait[=SPAN]           wait for the awaited observers (the bus's default, 30s)
         --immediately           also deliver it to suspended observers
         --lines                 post a notification for each line of standard input
         --pace=SPAN|forever     how long the lines wait for slow observers, up to 65s (the bus's setting)
         --text                  take a text instead of JSON
         --exec CMD…             with --bound, run a command; takes the rest of the line
      """
    case .get:
      """
      get NAME [OBJECT]
      Print what is retained under a name

          tribunectl get power.source
          tribunectl get power.level battery/1 --format='{userInfo.percent}'

      Prints the userInfo of the notification retained under NAME for OBJECT, or for no object, as it was
      posted; on a terminal, on one line.

      Exits with 0 if there is one, 1 if nothing is retained that this user may observe, 2 for wrong usage,
      and 255 if the bus does not answer.

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

      Prints a line for each notification whose name matches a pattern, until interrupted. In a pattern, *
      matches one token, and a final ** one or more.

      With --format, prints TEXT for each notification, and replaces these placeholders: {time}, {name},
      {object}, {userInfo}, and of the poster {sender}, {pid}, {uid}, {process}, {unit}, {systemUnit} and
      {userUnit}. {userInfo.KEY} is a member of JSON, {userInfo.KEY.KEY} a member of that. Unknown and missing
      values are empty. {{ and }} are braces. Losses are reported on standard error.

      With --exec, runs a command for each notification instead, one after the other, with the userInfo on
      standard input. Its environment has TRIBUNE_NAME, TRIBUNE_OBJECT and TRIBUNE_SENDER (empty for the bus
      itself), and TRIBUNE_SENDER_PID, _UID, _PROCESS, _UNIT, _SYSTEM_UNIT and _USER_UNIT (empty if the bus
      does not know them). TRIBUNE_LOST counts the notifications dropped just before this one.
      TRIBUNE_INTERRUPTED=1: the bus was unreachable, and an unknown number was missed. TRIBUNE_RETAINED=1:
      the notification was retained.

      While a command runs, up to 4096 notifications wait in tribunectl, and more on the bus. If the bus drops
      the oldest, tribunectl reports the number on standard error. If a signal or the time limit of -N ends
      tribunectl, it ends the running command, and starts none for waiting notifications. It also ends if a
      command cannot be started.

      With --awaited, post --wait waits until the line is written or the command has ended. A command that
      does not exit with 0 has failed.

      Ctrl-Z (SIGTSTP) suspends the observer on the bus until it continues; --suspension decides about the
      notifications in between. On continuing, tribunectl reports on standard error, also with -j, how many
      were coalesced. It does not report those that --suspension=drop dropped. A running command is not
      stopped. SIGSTOP suspends nothing: the observer just does not read, and reports its losses.

      Prints "observing …" on standard error once the bus has confirmed.

         --object=OBJECT  only about this object
      -N COUNT            end after COUNT notifications
         --timeout=SPAN   how long to wait for the bus (30s); with -N, also for the notifications
         --retained       begin with the retained notifications
         --suspension=coalesce|drop|hold|immediately
                          while stopped by Ctrl-Z: keep the last of each name and object, drop, keep all, or
                          deliver (coalesce)
         --awaited        make post --wait and guard --wait wait for this observer
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

      Before an action, asks the delegates of the object, and those without an object; without --object=, all
      delegates of NAME. NAME is a question, which ends in should and a verb: host.shouldReboot. If JSON is -,
      reads the userInfo from standard input.

      Exits with 0 if the action is allowed, 1 if it is vetoed, 2 for wrong usage, and 255 without a verdict,
      as ExecCondition= expects.

      With --wait-until-allowed, waits until the action is allowed. After SPAN, the last verdict counts. SPAN
      also limits the first deadline: delegates without an answer by then have failed. It asks again when a
      hold ends, when a delegate attaches or leaves, and when the bus reloads its configuration or returns. It
      also asks when a delegate announces a possibly new answer: for host.shouldReboot, by posting
      host.mayReboot. If only delegates, or other hosts of the cluster, object, it also asks again
      after the pause of --recheck.
      If a delegate that vetoed leaves, tribunectl waits 5s before it asks, because the delegate's service may
      only be restarting.

      While it waits, it prints vetoes on standard error, and later new and changed ones. For each user except
      root and you, it prints at most 20 a minute, then how many it omitted. With --json, it prints these
      verdicts on standard output. The default is then --mode=all. If the bus goes, and does not return within
      --reconnect, it exits with 255, whatever --if-unreachable says.

      With --scope=cluster, asks each host of the cluster. Each host's verdict is one outcome, with the label
      host:HOST. With --scope=host, asks only this host. With either, the gateway tribune-nats asks the
      delegates, in its own name; the policy must allow the caller to ask scope.cluster.NAME or
      scope.host.NAME. Without a gateway, there is no verdict. Without --scope, the gateway's configuration
      decides which hosts are asked.

      In a delegate's command, the query's parent is $TRIBUNE_QUERY.

         --object=OBJECT              its object, such as unit/nginx.service
         --timeout=SPAN               the deadline (the bus's default, 30s)
         --mode=parallel|all|order    ask all and stop at the first veto, ask all and collect every veto, or
                                      ask one at a time (parallel)
         --override=WHY               override vetoes, for this reason
         --dry-run                    tell the delegates that no action will follow
         --default=allow|veto         the verdict if no delegate decides (allow)
         --wait-until-allowed[=SPAN]  while vetoed, wait and ask again (for ever)
         --recheck=SPAN               the pause while only delegates object (30s)
         --if-unreachable=fail|allow|veto  the verdict without a bus at the start (fail: exit with 255)
         --wait-for-bus=SPAN|infinity  how long to wait for a bus at the start (0)
         --scope=host|cluster         ask only this host, or each host of the cluster
         --text                       take a text instead of JSON
      """
    case .query:
      """
      query NAME [JSON]
      Ask the delegates for a value

          tribunectl query window.frame --object=window/42
          tribunectl query host.load --collect --scope=cluster

      Asks the delegates of the object, and those without an object, one after the other, and prints the first
      value; without --object=, asks all delegates of NAME. If JSON is -, reads the userInfo from standard
      input.

      With --collect, asks all of them at once, and prints every value. On standard error, it reports delegates
      that fail, leave or do not answer in time, such as an absent host of the cluster.

      Exits with 0 if there is a value, 1 if no delegate has one, 2 for wrong usage, and 255 if the bus does
      not answer.

         --object=OBJECT       its object, such as unit/nginx.service
         --collect             ask all of them, and print every value, one per line
         --timeout=SPAN        the deadline (the bus's default, 30s)
         --scope=host|cluster  ask only this host, or each host of the cluster
         --text                take a text instead of JSON
      """
    case .delegate:
      """
      delegate NAME…
      Answer questions while it runs

          tribunectl delegate host.shouldReboot --veto="a demo runs"
          tribunectl delegate backup.shouldPrune --exec /usr/local/bin/may-prune
          tribunectl delegate window.shouldClose            # asks on the terminal

      Joins the object's delegate chain, and answers the questions that match any NAME, which may be a
      pattern, until interrupted. --approve, --veto or --exec gives the answers. Without them, it asks on the
      terminal.

      For the action host.reboot, NAME is host.shouldReboot. With --approve and --veto, each NAME must be such
      a question, or end in *; names of will- and did-notifications may be added. Otherwise, NAME can also be
      a value query.

      On the terminal, it shows one question at a time, with its asker and subject, and reads y, n, or n and a
      reason. A question that is withdrawn or times out disappears. The delegate ends with its input. Open
      questions have then failed, and --on-failure applies.

      The command of --exec gets the userInfo on standard input. Its environment has TRIBUNE_NAME,
      TRIBUNE_OBJECT (empty if the question is about all objects), TRIBUNE_QUERY, TRIBUNE_DELEGATE, and
      TRIBUNE_ASKER_PID, _UID, _PROCESS, _UNIT, _USER_UNIT and _CONNECTION; also TRIBUNE_DRY_RUN=1 if no
      action will follow. Exit status 0 approves, 1
      vetoes with the output as the reason, and 198 abstains. Any other status (most tools exit with 2 for a
      mistake) or a signal is a failure, with the last line of standard error as the reason; --on-failure
      applies. For a value query, the command writes the value as JSON, and exits with 0. When the query is
      over, tribunectl ends the command. In the command, "tribunectl defer" asks for more time than --timeout.

      With --concluded, PROGRAM runs when a query that the command was asked has ended, and can undo the
      command's preparations. It runs after the command, with the same variables and TRIBUNE_ENDING: allowed,
      vetoed, or cancelled (the asker took the question back, or the end is unknown). If tribunectl has to
      end, it still runs PROGRAM, and waits for it without a time limit.

      At most 64 commands run at a time. The asking users share them; root and the user that runs the delegate
      may use all that are left. Further questions wait, and users take turns. At most 256 questions of a user
      wait, and all its questions have at most 64 MiB of userInfo. Questions beyond these limits fail.

      Prints each answer with its question; of a userInfo of more than 1,024 bytes, only the length. For each
      user except root and you, prints at most 20 lines a second, then how many it omitted. Prints will- and
      did-notifications under these names as observe does.

      A delegate that vetoed host.shouldReboot, and would now allow it, announces this with "tribunectl post
      host.mayReboot". Askers that wait with --wait-until-allowed then ask again. They also notice its end.

      With --directory=DIR and no NAME, each executable DIR/NAME/FILE is a delegate called FILE for NAME, and
      runs like the command of --exec. Files are asked in the order of their names. FILE.concluded runs like
      the program of --concluded. New files, removed files and changed permissions take effect at once, also
      behind links. Broken links, files that only other users may execute, and inaccessible entries fail.
      While a folder has the name of an action, such as host.reboot, the question host.shouldReboot fails.
      While the bus refuses a file, this verb holds NAME instead, unless --on-failure=abstain. If another
      delegate replaces a file, or a reload forbids it, tribunectl reports that, and attaches it again as soon
      as it can. Names that begin with . or end with ~, .dpkg-* or .rpm* are ignored.

      Prints "attached …" on standard error once the bus has confirmed.

         --object=OBJECT            the object whose delegate it is (any)
         --approve                  approve everything
         --veto=REASON              veto everything
         --exec CMD…                let a command answer; takes the rest of the line
         --concluded=PROGRAM        with --exec: tell PROGRAM how each query has ended
         --directory=DIR            let the executables in DIR/NAME/ answer
         --order=N                  place in the chain: lower is asked earlier (0)
         --on-failure=veto|abstain  the effect of a timeout or a failure (veto)
         --timeout=SPAN             time for an answer (the bus's default, 5s; on the terminal 1min)
         --set                      replace and end the object's other delegates; without --object,
                                    delegates without an object that share a name
         --conforms=PROTOCOL,…      the protocols that it conforms to
         --label=TEXT               its name in verdicts
      """
    case .guard:
      """
      guard ACTION [JSON] -- CMD…
      Run a command unless it is vetoed

          tribunectl guard backup.prune --wait-until-allowed=2h -- prune
          tribunectl guard backup.prune --slots=1 --wait-until-allowed -- prune
          tribunectl guard backup.run --veto-exit-code=199 -- restic backup /srv
          case $? in
            199) echo "vetoed: nothing has run" ;;
            255) echo "no verdict: nothing has run" ;;
            *) echo "restic has run" ;;
          esac

      For the action window.close, asks window.shouldClose. If allowed, posts window.willClose, runs the
      command, and posts window.didClose, or window.didFailToClose with the failure. JSON is the userInfo of
      all but didFailToClose.

      Exits with 77 on a veto, and with 255 if there is no verdict, or the will cannot be posted: then it has
      run nothing. Else exits with the command's status.

      Prints every reason of a veto; with --json, the verdict on standard output. Prints overridden vetoes on
      standard error before the command runs.

      The command may also exit with 77 or 255: choose a status that it never has, as in the example.

      The bus's policy must allow the question (ask) and the three notifications (post), also didFailTo. Else
      guard exits with 255 before it asks. --dry-run only asks: it can print allowed where the policy forbids
      the posts.

      If the bus goes while the command runs, tribunectl looks for it until the command ends, and tells it of
      the action. The bus then has 5s to accept the outcome; else tribunectl reports that.

      While the command runs, its action is under way: the bus lists it (tribunectl actions), and tells each
      new hold that it is too late. If tribunectl is killed, the action stays listed until the command and its
      children have ended: they inherit a connection, as with hold.

      With --slots, COUNT such actions under way veto another. Without an object, they are about every object.

      With --wait, the command runs when all --awaited observers of window.willClose have acknowledged it, or
      at the deadline. tribunectl names the others.

      With --wait-until-allowed, waits and asks again as ask does, and prints the vetoes on standard error. If
      it is still vetoed after SPAN, exits as on a veto. With --claim, holds that come while it waits do not
      veto it: they wait for its command, and veto all others. The policy must allow claim.

         --object=OBJECT              its object, such as unit/nginx.service
         --wait[=SPAN]                wait for awaited observers (the bus's 30s)
         --timeout=SPAN               the deadline (the bus's default, 30s)
         --mode=parallel|all|order    ask all and stop at the first veto, ask all and collect every veto, or
                                      ask one at a time (all)
         --override=WHY               override vetoes, for this reason
         --dry-run                    print the verdict, and run nothing
         --default=allow|veto         the verdict if no delegate decides (allow)
         --wait-until-allowed[=SPAN]  while vetoed, wait and ask again (for ever)
         --recheck=SPAN               the pause while only delegates object (30s)
         --claim                      with it: go before holds that come later
         --if-unreachable=fail|allow|veto  the verdict without a bus at the start (fail: exit with 255)
         --wait-for-bus=SPAN|infinity  how long to wait for a bus at the start (0)
         --scope=host|cluster         ask this host, or each host of the cluster
         --slots=COUNT                how many may be under way at a time (any)
         --veto-exit-code=STATUS      the exit status for a veto (77)
         --text                       take a text instead of JSON
      """
    case .explain:
      """
      explain NAME
      Show the delegates that would be asked

          tribunectl explain host.shouldReboot
          tribunectl explain unit.shouldStart --object=unit/backup.service

      Shows the holds that would veto a query, the actions under way that it is about, the missing required
      delegates, and the delegates that it would ask, in order, with their failure policies. Asks no delegate.
      NAME is a question or a value query, not an action.

      With --scope=cluster, shows those of each host of the cluster. If a host does not answer, or does not
      let other hosts ask NAME, says so and exits with 1.

         --object=OBJECT       its object, such as unit/nginx.service
         --scope=host|cluster  only this host, or each host of the cluster
      """
    case .hold:
      """
      hold [NAME…] [-- CMD…]
      Veto while it, or a command, runs

          tribunectl hold --action=host.reboot --why=backup -- restic backup /srv
          tribunectl hold backup.shouldPrune@repo/main --why="a restore runs"
          tribunectl hold 'host.*' --why=maintenance --expires=2h

      Vetoes all queries that match any NAME, which may be a pattern, until interrupted or expired. The bus
      may limit this time (HoldMaxSec=). tribunectl then prints the end, and a warning before it. A NAME
      that does not end in * must be a question, such as host.shouldReboot. NAME@OBJECT and ACTION@OBJECT are
      only about that object. Give --action once for each ACTION.

      With a command, first waits for guarded actions that are already under way, and names them. New ones are
      vetoed meanwhile. Then runs the command, passes signals on to it, holds until it has ended, and exits
      with its status. If the hold is not taken, runs nothing and exits with 255. With --if-unreachable=run,
      runs the command anyway, says why, and takes the hold as soon as possible.

      If the bus goes, stops, or ends the hold while the command or the process of --pid runs, tribunectl says
      so, and tries to take the hold again until the command or process ends. It reports success. --reconnect
      does not limit this.

      The hold ends with the command, even if a child continues in the background. If tribunectl is killed, the
      hold lasts until the command and its children end, because they inherit the connection. It then ends
      early if they close their descriptors, as ssh and sudo do, or if it was taken again after a loss of the
      bus. The command cannot use the connection: if it writes to the descriptor, the bus ends the
      connection and the hold. So it may run with fewer privileges than tribunectl. It can end the hold,
      and read what the bus sends about it.

      With --why-from, each line of FILE, preferably a pipe made by mkfifo, becomes the reason: "backup at
      40 %". A new reason does not wake waiting askers. The command then does not inherit the connection, and
      the hold ends with tribunectl.

      Prints "holding …" on standard error once the bus has confirmed. After reconnecting, reports whether the
      hold was in force all the time.

         --object=OBJECT  only about this object; for one NAME or ACTION
         --why=REASON     the reason in verdicts; required
         --why-from=FILE  let each line of FILE replace the reason; - is stdin
         --action=ACTION…
                          veto what guard ACTION asks: for host.reboot, host.shouldReboot
         --expires=SPAN   end the hold after SPAN (never)
         --label=TEXT     the holder in verdicts and lists (the name of the command, caller or unit)
         --pid=PID        hold until that process has ended
         --late=WHAT      with a command, if such actions are under way: wait (until they end), wait:SPAN
                          (at most SPAN), fail (exit with 255), or run (do not wait) (wait)
         --if-unreachable=fail|run     if the hold is not taken at the start, exit with 255, or run the
                                       command (fail)
         --wait-for-bus=SPAN|infinity  how long to wait for a bus at the start (0)
      """
    case .actions:
      """
      actions
      List the actions under way

          tribunectl actions
          tribunectl actions -o '{name}: {process} {pid}'

      Lists the guarded commands that run, and what programs have begun with the bus's consent.

         --columns=COLUMN,…  only these columns, in this order
         --sort=COLUMN       sort by this column; -COLUMN: the largest first
      """
    case .holds:
      """
      holds
      List the holds

          tribunectl holds --sort=-age
          tribunectl holds -o '{name}: {why}'
          tribunectl holds --scope=cluster

      Lists the holds, with their owners and reasons. With --scope=cluster, lists those of each host of the
      cluster on names that other hosts may ask. If a host does not answer, says so and exits with 1.

         --scope=host|cluster  only this host, or each host of the cluster (host)
         --columns=COLUMN,…  only these columns, in this order
         --sort=COLUMN       sort by this column; -COLUMN: the largest first
      """
    case .lease:
      """
      lease LEASE [-- CMD…]
      Run a command on one host at a time

          tribunectl lease upgrade -- apt-get --yes upgrade
          tribunectl lease backup --scope=host -- backup
          tribunectl lease reboot --keep && systemctl reboot
          tribunectl lease reboot --release

      Waits until this host has the LEASE, runs the command, and exits with its status. One host of the
      cluster can have it at a time, or as many as --slots says. LEASE is a name, such as reboot. Each host
      needs tribune-nats. On one host, one command at a time has the lease.

      If the command exits with 0, the host releases the lease. Otherwise, the host keeps the lease, so a
      failure does not spread to the next host. It also keeps the lease with --keep, if tribunectl is killed,
      or if the host goes down: leases do not expire. A host that has it gets it again when it asks, also
      after a reboot.

      With --scope=host, one program of this host has it at a time, without a cluster. It ends with the
      command, and with the processes that the command leaves behind.

      Without a command, --keep only takes the lease, for example before a reboot. Let a unit that starts once
      the host works again run --release.

      With --break, a host that does not return loses it. First make sure that that host no longer does what
      the lease is for. The journal and the notification cluster.lease.didBreak record who broke it, and why.

      Exits with 75 if the lease did not become free in time, and with 255 if there is no cluster, or it is
      unknown whether the host has the lease: then nothing runs.

         --slots=COUNT  how many hosts, or programs, may have it at a time (1)
         --scope=host|cluster  among the programs of this host, or the hosts of the cluster (cluster)
         --wait[=SPAN]  how long to wait for it (for ever); 0: do not wait
         --keep         keep it also if the command succeeds
         --release      release what this host has kept
         --break=HOST   take it from that host
         --why=REASON   the reason for --break; required
      """
    case .leases:
      """
      leases
      List the leases of the cluster

          tribunectl leases
          tribunectl leases -o '{lease} {owners.0.host}'

      Lists the leases of the cluster, with the hosts that have them. STATE is "gone" if the host is absent:
      it may be rebooting, or gone for good. STATE is "kept" if the host is present, but its command has
      ended. The HOST of a FleetLock client's lease is fleetlock:ID.

         --columns=COLUMN,…  only these columns, in this order
         --sort=COLUMN       sort by this column; -COLUMN: the largest first
      """
    case .accounts:
      """
      accounts
      Show each user's usage and limits

          tribunectl accounts --sort=-used
          tribunectl accounts -o '{uid} {resource} {used}'

      Lists each user's part of what all users of the bus share: connections, descriptors under way, bytes of
      incomplete frames (partial-frames), of the log and of retained notifications, registrations, protocols
      of declarations, unread bytes (queues), and files that were sent but not received (unread-files). SHARE
      is the user's limit now; it depends on the usage of others. With -j, also lists unused resources.

      You may see your own user's account; others only if you may list everything.

         --columns=COLUMN,…  only these columns, in this order
         --sort=COLUMN       sort by this column; -COLUMN: the largest first
      """
    case .defer:
      """
      defer QUERY SPAN
      Ask for more time to answer a query

          tribunectl defer "$TRIBUNE_QUERY" 2min --status="flushing"
          tribunectl defer 17 30s                 # the query with this number

      Gives one of your delegates SPAN, from now on, to answer. The asker gets a report, and its deadline
      still applies.

      In a delegate's command, the query is $TRIBUNE_QUERY, and its delegate defers. Elsewhere, this applies
      to your delegate for which the query waits, if it has only one.

         --status=TEXT  a status for the asker
         --delegate=ID  which delegate defers
      """
    case .declare:
      """
      declare OBJECT PROTOCOL
      Declare an object while it runs

          tribunectl declare window/42 WindowDelegate --definitions=window.protocol
          tribunectl declare printer/1 PrinterDelegate    # of protocols.d

      Declares the protocol of an object's delegates, until interrupted. OBJECT cannot have a wildcard; for
      patterns of objects, use tribuned.conf.

      Prints "declared …" on standard error once the bus has confirmed.

         --definitions=FILE  define these protocols while it runs; - is stdin
      """
    case .tree:
      """
      tree
      Show the objects as a tree

          tribunectl tree
          tribunectl tree -o '{object} {protocol}'

      Shows the objects that are declared or have delegates, with their protocols, as a tree split at each /.
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
         --sort=COLUMN       sort by this column; -COLUMN: the largest first
      """
    case .policy:
      """
      policy explain ACTION NAME
      Show what the policy decides, and why

          tribunectl policy explain ask host.shouldReboot --as=backup
          tribunectl policy explain hold 'host.*' --pid=1234

      Shows whether the bus's policy allows ACTION with NAME, which may be a pattern, and which line decides.
      If no line allows it, also shows the lines that would if one thing were different. Does not perform the
      action. tribune-policy(5) lists the actions.

      For declare, NAME must be **. For list, ** asks whether everything may be listed.

      Without an option, decides about tribunectl's own connection.

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
      FILE:LINE:COLUMN: MESSAGE. The file - is standard input, with protocols. Needs no bus.

      Reads the .policy files together, as the bus reads policy.d, and checks them against the expectations in
      the .test files. An unknown user or group is a warning in a line that allows, and a mistake in one that
      denies. A line that no process can match is a warning.

      Exits with 0 if there is no mistake, else with 1.
      """
    case .log:
      """
      log [NAME]
      Show past verdicts

          tribunectl log host.shouldReboot --vetoed --since=today
          tribunectl log --summary --since=7d

      Shows queries that match NAME, which may be a pattern, with their verdicts, vetoes and reasons, the
      newest last. Reads the bus's last verdicts if the bus does not write to a journal, else the journal,
      which needs no bus.

      A TIME is a span before now (2h), today, yesterday, 23:10, 2026-11-20 or "2026-11-20 23:10", in local
      time. A day means its first moment.

      UNIT is a system unit, in which * matches any text and ? one character. Processes of a user's service
      manager are in user@UID.service, or in user@UID.service/UNIT with that manager's unit. Verdicts with
      overridden vetoes are allowed: they match --by, but not --vetoed.

      With --follow, begins with the last 10 verdicts, unless --since or -n says otherwise, then prints
      "following …" on standard error, and continues until interrupted.

      With --summary, prints a row for each name, the most vetoed first: the median, 99th percentile and
      maximum of the time from question to verdict, and how often it was asked, allowed and vetoed. Below, it
      counts the verdicts that each unit vetoed, the busiest first; vetoers without a unit appear with their
      label, in quotation marks. Median and percentile may be 3% too long. Entries of users other than root
      and you are counted apart. Names beyond 512, and vetoers of a name beyond 64, are counted together, and
      reported.

         --object=OBJECT  only about this object
         --since=TIME     only since this time
         --until=TIME     only until this time
         --vetoed         only vetoed ones
         --by=UNIT        only those that a delegate or hold of this unit vetoed
      -n COUNT            only the last COUNT verdicts
      -f --follow         also print new verdicts
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

      Prints the script with which bash, zsh or fish completes tribunectl's command lines. Packages install it
      already.
      """
    case .help:
      """
      help [VERB]
      Explain tribunectl, or one verb

          tribunectl help hold
          tribunectl help --full hold   # every detail
          tribunectl help names         # which name of an action each verb takes

      Prints a verb's examples and options; with --full, also every detail, and the options of all verbs.

         --full  print every detail, as in tribunectl(1)
      """
    case .version:
      """
      version
      Print the version
      """
    }
  }
}
