// SPDX-License-Identifier: Apache-2.0

import TribuneJSON
import TribuneWire

/// The bus's Varlink interfaces and their descriptions (https://varlink.org/Interface-Definition).
package enum VarlinkInterface {
  package static let bus = "io.tribune.Bus"
  static let service = "org.varlink.service"

  package static func description(of interface: String) -> String? {
    switch interface {
    case bus: busDescription
    case service: serviceDescription
    default: nil
    }
  }

  private static let busDescription = """
    # Tribune: a bus for one host. Processes tell each other what happened, and ask before they act.
    #
    # See tribune-varlink(7). Names, objects and patterns are those of tribunectl(1). A connection has one call at a
    # time; what a call registers lasts until the call or its connection ends.
    interface io.tribune.Bus

    # A process, as the kernel and systemd know it. Its units are empty if it has none.
    type Peer (pid: int, uid: int, process: string, systemUnit: string, userUnit: string)

    # What became of a delegate in a query, or of an observer of an awaited notification. A value is a JSON object, or
    # else text; if it is longer than 128 KiB, or than what other values leave of that, omittedBytes has its length.
    # elapsedUSec is the time from the question to the outcome.
    type Outcome (
      label: string,
      outcome: (asked, deferred, approved, vetoed, abstained, timedOut, gone, failed, held, answered),
      reason: ?string,
      value: ?object,
      text: ?string,
      omittedBytes: ?int,
      elapsedUSec: ?int,
      peer: Peer
    )

    # Posts a notification. With awaitSec, the reply comes when all observers that are awaited have handled it, or after
    # that time, and has those that have not.
    method Tell(name: string, object: ?string, userInfo: ?object, retain: ?bool, awaitSec: ?float) ->
      (missing: ?[]Outcome)

    # Asks the delegates for permission or, in the modes first and collect, for values. With "more", replies before the
    # last have no verdict, and say which delegates are asked, need more time or have an outcome. If only patterns
    # match the name, similarName has a similar one that is in use or well known.
    method Ask(
      name: string,
      object: ?string,
      userInfo: ?object,
      mode: ?(parallel, all, order, first, collect),
      deadlineSec: ?float,
      fallback: ?(allowed, vetoed),
      dryRun: ?bool,
      override: ?string
    ) -> (
      verdict: ?(allowed, vetoed),
      query: ?string,
      outcomes: ?[]Outcome,
      omitted: ?int,
      unanswered: ?bool,
      overridden: ?bool,
      similarName: ?string
    )

    # Observes notifications; needs "more". After "ready" come the retained ones, if wanted, and then what is posted. "lost"
    # counts those that were dropped because the client did not read. One with a ticket waits for Answer.
    # userInfo that is no JSON object comes as text; of userInfo over 128 KiB, omittedBytes has the length.
    method Observe(patterns: ?[]string, object: ?string, retained: ?bool, awaited: ?bool) -> (
      kind: (ready, notification, lost),
      name: ?string,
      object: ?string,
      userInfo: ?object,
      text: ?string,
      omittedBytes: ?int,
      sender: ?Peer,
      ageUSec: ?int,
      lost: ?int,
      ticket: ?string
    )

    # Joins the delegates; needs "more". After "ready" come the questions, each of which waits for Answer on another
    # connection of the same user, and how their queries end. "ended" is the last reply: why says what has ended it.
    method Delegate(
      names: []string,
      object: ?string,
      label: ?string,
      onFailure: ?(veto, abstain),
      order: ?int,
      timeoutSec: ?float,
      protocols: ?[]string
    ) -> (
      kind: (ready, question, notification, lost, concluded, ended),
      ticket: ?string,
      name: ?string,
      object: ?string,
      userInfo: ?object,
      text: ?string,
      omittedBytes: ?int,
      asker: ?Peer,
      sender: ?Peer,
      timeoutSec: ?float,
      dryRun: ?bool,
      wantsValue: ?bool,
      conclusion: ?(allowed, vetoed, cancelled),
      lost: ?int,
      why: ?string
    )

    # Answers a question, or says that an awaited notification is handled ("done"), or could not be ("failed").
    method Answer(
      ticket: string,
      answer: (approve, veto, abstain, failed, value, done),
      reason: ?string,
      value: ?object
    ) -> ()

    # Takes more time for an answer. An asker whose call has "more" is told the status.
    method Defer(ticket: string, extensionSec: float, status: ?string) -> ()

    # Vetoes what matches until the call ends; needs "more". The bus may end it earlier than expirySec: see expiresInSec.
    # There is a second reply only if the bus ends the hold: why says what has ended it.
    method Hold(name: string, object: ?string, why: string, label: ?string, expirySec: ?float) ->
      (hold: ?int, expiresInSec: ?float, why: ?string)

    # The bus refuses what a call asks. The codes are those of PROTOCOL.md: notPermitted, invalidName, limitExceeded, ...
    error Refused (code: string, message: string)

    """

  private static let serviceDescription = """
    # The Varlink service itself.
    interface org.varlink.service

    method GetInfo() -> (
      vendor: string,
      product: string,
      version: string,
      url: string,
      interfaces: []string
    )

    method GetInterfaceDescription(interface: string) -> (description: string)

    error InterfaceNotFound (interface: string)
    error MethodNotFound (method: string)
    error MethodNotImplemented (method: string)
    error InvalidParameter (parameter: string)
    error PermissionDenied ()
    error ExpectedMore ()

    """

  static var info: JSONValue {
    .object([
      ("vendor", .string("Tribune")), ("product", .string("tribuned")), ("version", .string(Version.current)),
      ("url", .string("")), ("interfaces", .array([.string(bus), .string(service)])),
    ])
  }
}
