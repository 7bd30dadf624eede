// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TribuneCore
import TribuneProtocols
import TribuneServer
import TribuneService
import TribuneWire

private func read(
  _ text: String, defaults: Configuration = Configuration()
) -> (configuration: Configuration, diagnostics: [String]) {
  var reader = ConfigurationReader(defaults: defaults)
  reader.read(Array(text.utf8), file: "t.conf")
  let (configuration, diagnostics) = reader.finish()
  return (configuration, diagnostics.map(\.description))
}

@Suite("The configuration")
struct ConfigurationTests {
  struct Good: Sendable, CustomTestStringConvertible {
    let text: String
    let expected: Configuration

    init(_ text: String, _ change: (inout Configuration) -> Void) {
      self.text = text
      var configuration = Configuration()
      change(&configuration)
      expected = configuration
    }

    var testDescription: String { text.debugDescription }
  }

  private static func require(
    _ rules: (pattern: String, labels: [String])..., vetoesByDefault: Bool = false, holdMax: TimeSpan? = nil
  ) -> (inout Configuration) -> Void {
    { configuration in
      for rule in rules {
        do throws(WireError) {
          configuration.policy.queryRules.append(
            .init(
              pattern: try Pattern(rule.pattern), required: rule.labels.map { .label($0) },
              vetoesByDefault: vetoesByDefault, holdMax: holdMax))
        } catch {
          Issue.record("\(rule.pattern): \(error.message)")
        }
      }
    }
  }

  static let good: [Good] = [
    Good("") { _ in },
    Good("\n  \n# a comment\n; another\n") { _ in },
    Good("[Bus]\nConnectionsMax=5") { $0.connectionsMax = 5 },
    Good("[Bus]\r\nConnectionsMax = 5\r\n") { $0.connectionsMax = 5 },
    Good("\u{FEFF}[Bus]\nConnectionsMax=5\n") { $0.connectionsMax = 5 },
    Good("[Bus]\n  ConnectionsMax=5\n  QueriesMax=6\n") {
      $0.connectionsMax = 5
      $0.queriesMax = 6
    },
    Good("[Bus]\nConnectionsMax=5 ; as many as there are\n") { $0.connectionsMax = 5 },
    Good("[Bus]\nPayloadMax=64K\n") { $0.payloadMaxBytes = 65_536 },
    Good("[Bus]\nPayloadMax=1G\nPartialFramesMemoryMax=1G\n[Queue]\nHardLimit=1G\n") {
      $0.payloadMaxBytes = 1 << 30
      $0.partialFramesMemoryMaxBytes = 1 << 30
      $0.queue.hardLimitBytes = 1 << 30
    },
    Good("[Bus]\nPayloadMax=65536\n") { $0.payloadMaxBytes = 65_536 },
    Good("[Bus]\nObservationsMax=1\n") { $0.observationsMax = 1 },
    Good("[Bus]\nDelegatesMax=2\n") { $0.delegatesMax = 2 },
    Good("[Bus]\nHelloTimeoutSec=1min 30s\n") { $0.helloTimeoutNanoseconds = 90_000_000_000 },
    Good("[Bus]\nFrameTimeoutSec=250ms\n") { $0.frameTimeoutNanoseconds = 250_000_000 },
    Good("[Bus]\nHelloTimeoutSec=3\n") { $0.helloTimeoutNanoseconds = 3_000_000_000 },
    Good("[Bus]\nLogMax=1M\n[Notifications]\nRetainedMax=1M\n") {
      $0.logMaxBytes = 1 << 20
      $0.notifications.retainedMaxBytes = 1 << 20
    },
    Good("[Bus]\nLogMax=2G\n") { $0.logMaxBytes = 2 << 30 },
    Good("[Bus]\nPartialFramesMemoryMax=1T\n") { $0.partialFramesMemoryMaxBytes = 1 << 40 },
    Good("[Queue]\nLowMark=0\n") { $0.queue.lowMarkBytes = 0 },
    Good("[Queue]\nHighMark=64M\n") { $0.queue.highMarkBytes = 64 << 20 },
    Good("[Queue]\nPaceMaxSec=0\n") { $0.queue.paceMaxNanoseconds = 0 },
    Good("[Queue]\nHardLimit=2M\n[Bus]\nPayloadMax=1M\n") {
      $0.queue.hardLimitBytes = 2 << 20
      $0.payloadMaxBytes = 1 << 20
    },
    Good("[Queue]\nMemoryMax=1M\n[Notifications]\nBufferMax=0\nRetainedMax=2K\n") {
      $0.queue.memoryMaxBytes = 1 << 20
      $0.notifications.bufferMaxBytes = 0
      $0.notifications.retainedMaxBytes = 2 << 10
    },
    Good("[Delegation]\nDelegateTimeoutSec=1ms\nDeadlineSec=2h\nDeadlineMaxSec=2h\n") {
      $0.delegateTimeoutNanoseconds = 1_000_000
      $0.deadlineNanoseconds = 7_200_000_000_000
      $0.deadlineMaxNanoseconds = 7_200_000_000_000
    },
    Good("[Socket]\nMode=600\n") { $0.socketMode = 0o600 },
    Good("[Log]\nLevel=debug\n[Bus]\nQueriesMax=7\n[Log]\nLevel=warning\n") {
      $0.logLevel = .warning
      $0.queriesMax = 7
    },
    Good("[Bus]\nQueriesMax=7\nQueriesMax=\n") { _ in },
    Good("[Bus]\nQueriesMax=" + String(repeating: "0", count: 5_000) + "7\n") { $0.queriesMax = 7 },
    Good(
      "[Query \"backup.*\"]\nRequireDelegate=label:a label:b.service\nRequireDelegate=label:c label:a\n",
      require(("backup.*", ["a", "b.service", "c"]))),
    Good("[Query \"**\"]\nRequireDelegate=unit:a@b.service label:c:d\n") {
      $0.policy.queryRules = [.init(pattern: .any, required: [.unit("a@b.service"), .label("c:d")])]
    },
    Good(
      "[Query \"a.*\"]\nDefault=veto\nRequireDelegate=label:x\n",
      require(("a.*", ["x"]), vetoesByDefault: true)),
    Good("[Query \"a.*\"]\nDefault=veto\n", require(("a.*", []), vetoesByDefault: true)),
    Good("[Query \"a.*\"]\nDefault=veto\nDefault=allow\n") { _ in },
    Good("[Query \"a.*\"]\nDefault=veto\nDefault=\n") { _ in },
    Good(
      "[Query \"a.*\"]\nRequireDelegate=label:x\n[Query \"**\"]\nRequireDelegate=label:y\n[Query \"a.*\"]\nRequireDelegate=label:z\n",
      require(("a.*", ["x", "z"]), ("**", ["y"]))),
    Good(
      "[Query \"a.*\"]\nRequireDelegate=label:x\n[Query \"b.*\"]\nRequireDelegate=label:y\n[Query \"a.*\"]\nRequireDelegate=\n",
      require(("b.*", ["y"]))),
    Good("[Query \"a.*\"]\n") { _ in },
    Good(
      "[Query \"a.*\"]\nHoldMaxSec=2h\nHoldMaxSec=1h 30min\n",
      require(("a.*", []), holdMax: TimeSpan(microseconds: 5_400_000_000))),
    Good("[Query \"a.*\"]\nHoldMaxSec=2h\nHoldMaxSec=\n") { _ in },
    Good("[User \"root\"]\nShare=3\n[User \"7\"]\nShare=1000\n[User \"8\"]\nShare=2\nShare=\n") {
      $0.weights = [0: 3, 7: 1000]
    },
    Good("[Bus]\nRegistrationsMax=5\n") { $0.registrationsMax = 5 },
    Good(
      " [ Query\t\"a.*\" ] ; \"why\"\r\nRequireDelegate=label:x\r\n[Log] ; \"b\"\nLevel=debug\n"
    ) {
      require(("a.*", ["x"]))(&$0)
      $0.logLevel = .debug
    },
    Good(
      "[Query \"should\(String(repeating: "N", count: 249))\"]\nRequireDelegate=label:x\n",
      require(("should\(String(repeating: "N", count: 249))", ["x"]))),
  ]

  @Test("is read", arguments: good)
  func reads(good: Good) {
    let (configuration, diagnostics) = read(good.text)
    #expect(configuration == good.expected)
    #expect(diagnostics == [])
  }

  struct Bad: Sendable, CustomTestStringConvertible {
    let text: String
    let expected: [String]

    init(_ text: String, _ expected: String...) {
      self.text = text
      self.expected = expected
    }

    var testDescription: String { String(text.debugDescription.prefix(100)) }
  }

  private static func noUnit(_ line: Int, _ name: String) -> String {
    "\(line): error: RequireDelegate=: \"unit:\(name)\" is not a unit in which a process can be: write its whole name, "
      + "such as unit:backup.service"
  }

  static let bad: [Bad] = [
    Bad("Mode=0600", "1: error: Mode= stands before any section"),
    Bad("[Bsu]\nQueriesMax=x", "1: error: there is no section [Bsu] (did you mean [Bus]?)"),
    Bad("[bus]\n", "1: warning: [bus] is read as [Bus]: write it like that"),
    Bad(
      "[Query a.*]\nDefault=veto",
      "1: warning: [Query a.*] is read as [Query \"a.*\"]: write it like that"),
    Bad("[]\nMode=1", "1: error: there is no section []"),
    Bad("\n[Bus]\nLevel=x", "3: mistake: there is no Level= in [Bus]; it is ignored"),
    Bad(
      "[Bus]\nqueriesmax=1",
      "2: mistake: there is no queriesmax= in [Bus]; it is ignored (did you mean QueriesMax=?)"),
    Bad(
      "[Queue]\nHihgMark=1M",
      "2: mistake: there is no HihgMark= in [Queue]; it is ignored (did you mean HighMark=?)"),
    Bad(
      "[Query \"a.*\"]\nRequireDelegat=b",
      "2: error: there is no RequireDelegat= in [Query \"a.*\"]; it may be what vetoes (did you mean RequireDelegate=?)"
    ),
    Bad(
      "[Qeury \"a\"]", "1: error: there is no section [Qeury \"a\"] (did you mean [Query]?)"),
    Bad(
      "[Bus]\n\u{1B}[31mQueries\u{7F}=1",
      "2: mistake: there is no \\u{1b}[31mQueries\\u{7f}= in [Bus]; it is ignored"),
    Bad(
      "[Log]\nLevel=\u{1B}]0;x\u{7}",
      "2: error: Level=: \"\\u{1b}]0;x\\u{7}\" is not one of error, warning, notice, info, debug"),
    Bad("[Query]\nRequireDelegate=a", "1: error: [Query]: needs a query, as in [Query \"backup.*\"]"),
    Bad("[User]\nShare=2", "1: mistake: [User]: needs a user, as in [User \"backup\"]"),
    Bad(
      "[User \"no-such-user\"]\nShare=2",
      "1: warning: [User]: \"no-such-user\" is no user of this host; the section is ignored"),
    Bad(
      "[User \"no-such-user\"]\nShare=0",
      "1: warning: [User]: \"no-such-user\" is no user of this host; the section is ignored",
      "2: error: Share=: \"0\" is out of range (1 to 1000)"),
    Bad(
      "[User \"7\"]\nShare=1001",
      "2: error: Share=: \"1001\" is out of range (1 to 1000)"),
    Bad(
      "[Query \"a..b\"]\nRequireDelegate=a",
      "1: error: [Query]: \"a..b\" is not a pattern: a name, with * for a token and a last ** for one or more"
    ),
    Bad(
      "[Query \"\"]\nRequireDelegate=a", "1: error: [Query]: needs a query, as in [Query \"backup.*\"]"),
    Bad(
      "[Query \"host.reboot\"]\nRequireDelegate=label:a",
      "1: error: [Query]: \"host.reboot\" is not the name of a question: did you mean host.shouldReboot?"),
    Bad(
      "[Query \"a.*\"]\nRequireDelegate=label:x,label:y",
      "2: error: RequireDelegate=: \"label:x,label:y\" is not a delegate: separate delegates by spaces, without quotes"
    ),
    Bad(
      "# local\r[Query \"a.*\"]\rDefault=veto\r",
      "1: error: the line contains a carriage return: lines must end in line feeds"),
    Bad(
      "[Query \"a.*\"]\nHoldMaxSec=soon",
      "2: error: HoldMaxSec=: \"soon\" is not a time span, such as 30s, 5min or 1h 30min"),
    Bad(
      "[Query \"a.*\"]\nHoldMaxSec=999ms",
      "2: error: HoldMaxSec=: \"999ms\" is out of range (1s to 36525d)"),
    Bad(
      "[Query \"a.*\"]\nHoldMaxSec=infinity",
      "2: error: HoldMaxSec=: \"infinity\" is not allowed: the time span must be finite"),
    Bad(
      "[Query \"foo.prune\"]\nDefault=veto",
      "1: error: [Query]: \"foo.prune\" is not the name of a question: did you mean foo.shouldPrune?"),
    Bad("[Query \"*\"]", "1: error: [Query]: \"*\" is not the name of a question: did you mean **?"),
    Bad(
      "[Query \"hosts.*\"]",
      "1: error: [Query]: \"hosts.*\" is not the name of a question: did you mean host.*?"
    ),
    Bad(
      "[Query \"db.willRestart\"]",
      "1: error: [Query]: \"db.willRestart\" is not the name of a question: did you mean db.shouldRestart?"),
    Bad(
      "[Delegation]\nDefault=veto",
      "2: error: there is no Default= in [Delegation]; it may be what vetoes (it belongs under [Query \"…\"])"
    ),
    Bad(
      "[Object \"repo/*\"]\nrequireDelegate=label:a",
      "2: error: there is no requireDelegate= in [Object \"repo/*\"]; it may be what vetoes (it belongs under [Query \"…\"])"
    ),
    Bad("[Query \"a.*\"]\nMode=1", "2: error: there is no Mode= in [Query \"a.*\"]; it may be what vetoes"),
    Bad(
      "[Bus \"a\"]\nQueriesMax=x",
      "1: error: there is no section [Bus \"a\"] (did you mean [Bus]?)"),
    Bad("[Query \"a]\n", "1: error: the line is not a valid [Section] or [Section \"Subject\"]"),
    Bad("[Query \"a.*\"] b\n", "1: error: the line is not a valid [Section] or [Section \"Subject\"]"),
    Bad(
      "[Query \"a.*\"]\nRequireDelegate=unit:b.service c.service",
      "2: error: RequireDelegate=: \"c.service\" does not say what it names: write unit:c.service for a system unit, "
        + "label:c.service for a label"),
    Bad(
      "[Query \"a.*\"]\nRequireDelegate=label:",
      "2: error: RequireDelegate=: \"label:\" does not say what it names: write unit:NAME for a system unit, "
        + "label:NAME for a label"),
    Bad(
      "[Query \"a.*\"]\nRequireDelegate=user:root",
      "2: error: RequireDelegate=: \"user:root\" does not say what it names: write unit:NAME for a system unit, "
        + "label:NAME for a label"),
    Bad(
      "[Query \"a.*\"]\nRequireDelegate=backup",
      "2: error: RequireDelegate=: \"backup\" does not say what it names: write unit:backup.service for a system "
        + "unit, label:backup for a label"),
    Bad(
      "[Query \"a.*\"]\nRequireDelegate=unit:backup\nRequireDelegate=unit:*.service\nRequireDelegate=unit:a/b.service\n"
        + "RequireDelegate=unit:.service\nRequireDelegate=unit:backup.timer",
      noUnit(2, "backup"), noUnit(3, "*.service"), noUnit(4, "a/b.service"), noUnit(5, ".service"),
      noUnit(6, "backup.timer")),
    Bad("[User \"0\"]\nX=1", "2: mistake: there is no X= in [User \"0\"]; it is ignored"),
    Bad("[Query \"a.*\"]\nDefault=no", "2: error: Default=: \"no\" is neither veto nor allow"),
    Bad("[Object]\nProtocol=P", "1: error: [Object]: needs an object, as in [Object \"view/*\"]"),
    Bad(
      "[Object \"a*\"]\nProtocol=P",
      "1: error: [Object]: \"a*\" is not a pattern of objects: an object, with * for a part between slashes and a last ** for the rest"
    ),
    Bad(
      "[Object \"a\"]\nProtocols=P",
      "2: mistake: there is no Protocols= in [Object \"a\"]; it is ignored (did you mean Protocol=?)"),
    Bad(
      "[Object \"a/*\"]\nProtocol=P\n\n[Object \"a/*\"]\nProtocol=Q\n[Object \"b\"]\nProtocol=P\nProtocol=\n",
      "5: mistake: Protocol=: there is no protocol \"Q\" in protocols.d"),
    Bad("[Bus\nQueriesMax=x", "1: error: the line is not a valid [Section] or [Section \"Subject\"]"),
    Bad("[Bus]\nwhat", "2: error: the line is neither a [Section] nor a Key=Value"),
    Bad("[Bus]\nQueriesMax=1\n  2", "3: error: the line is neither a [Section] nor a Key=Value"),
    Bad("[Bus]\nQueriesMax=1\u{0}2", "2: error: the line contains a NUL byte"),
    Bad("[Queue]\nLowMark=1M", "2: error: LowMark=1M is not below HighMark=1M"),
    Bad("[Queue]\nLowMark=2M\n\nHighMark=65M", "4: error: HighMark=65M is over HardLimit=64M"),
    Bad(
      "[Queue]\nHighMark=3M\nHardLimit=2M\nLowMark=4M\n[Bus]\nPayloadMax=1M",
      "4: error: LowMark=4M is not below HighMark=3M",
      "3: error: HighMark=3M is over HardLimit=2M"),
    Bad("[Delegation]\nDeadlineMaxSec=10s", "2: error: DeadlineSec=30s is over DeadlineMaxSec=10s"),
    Bad(
      "[Bus]\nPayloadMax=1G",
      "2: warning: PayloadMax=1G is over PartialFramesMemoryMax=256M: the longest payloads never arrive",
      "2: warning: PayloadMax=1G is over HardLimit=64M: the longest payloads close the connections of their receivers"
    ),
    Bad(
      "[Notifications]\nRetainedMax=65M",
      "2: warning: RetainedMax=65M is over LogMax=64M: retained notifications can fill the log"),
    Bad(
      "[Queue]\nHighMark=8X\nLowMark=2M", "2: error: HighMark=: \"8X\" is not a size such as 64K, 1M or 2G"),
    Bad(
      "x\n[Bus]\nQueriesMax=a\nFoo=1\ny\n[Nowhere]\nBar=2\n[Log]\nLevel=b\n",
      "1: error: the line is neither a [Section] nor a Key=Value",
      "3: error: QueriesMax=: \"a\" is not a number",
      "4: mistake: there is no Foo= in [Bus]; it is ignored",
      "5: error: the line is neither a [Section] nor a Key=Value",
      "6: error: there is no section [Nowhere]",
      "9: error: Level=: \"b\" is not one of error, warning, notice, info, debug"),
  ]

  @Test(
    "reports invalid values",
    arguments: [
      ("Bus", "ConnectionsMax", ["many", "-1", "+1", "٣", "1K", "99999999999999999999"], "is not a number"),
      ("Bus", "ConnectionsMax", ["0"], "is out of range (1 to 131072)"),
      ("Bus", "PayloadMax", ["K", "1.5M", "1MB", "9999999999T"], "is not a size such as 64K, 1M or 2G"),
      ("Bus", "PayloadMax", ["65535", "1025M"], "is out of range (64K to 1G)"),
      ("Bus", "HelloTimeoutSec", ["5 parsecs"], "has the unknown unit \"parsecs\""),
      ("Bus", "HelloTimeoutSec", ["0", "290000y"], "is out of range (1ms to 1d)"),
      ("Socket", "Mode", ["rw", "0668", "01777"], "is not an octal mode from 0000 to 0777"),
      ("Log", "Level", ["loud"], "is not one of error, warning, notice, info, debug"),
    ] as [(String, String, [String], String)])
  func invalid(section: String, key: String, values: [String], reason: String) {
    for value in values {
      let expected = "t.conf:2: error: \(key)=: \"\(value)\" \(reason)"
      #expect(read("[\(section)]\n\(key)=\(value)").diagnostics == [expected])
    }
  }

  @Test("reports mistakes with their lines", arguments: bad)
  func complains(bad: Bad) {
    #expect(read(bad.text).diagnostics == bad.expected.map { "t.conf:\($0)" })
  }

  @Test("must leave space in the log")
  func tooLongForTheLog() throws {
    // A sixteenth of the log has 131,072 bytes.
    let lines = (0..<900).map { "RequireDelegate=label:\($0)\(String(repeating: "x", count: 150))\n" }
    let text = "[Notifications]\nRetainedMax=1M\n[Bus]\nLogMax=2M\n[Query \"a.*\"]\n"
    #expect(read(text + lines[..<500].joined()).diagnostics.isEmpty)
    let diagnostics = read(text + lines.joined()).diagnostics
    let message = try #require(diagnostics.first)
    #expect(diagnostics.count == 1)
    #expect(message.hasPrefix("t.conf:4: error: LogMax= is too small: "))
    #expect(message.hasSuffix(" 131072 bytes"))
  }

  @Test("keeps the last value if the next one is invalid")
  func badValueChangesNothing() {
    #expect(read("[Bus]\nQueriesMax=5\nQueriesMax=x\n").configuration.queriesMax == 5)
  }

  @Test("takes an empty value for the default, that of a user's bus where it differs")
  func emptyValue() {
    let text = "[Socket]\nMode=0666\nMode=\n"
    #expect(read(text).configuration.socketMode == 0o666)
    #expect(read(text, defaults: .forUser).configuration.socketMode == 0o600)
  }

  @Test("reports bytes that are not text as an error")
  func bytesThatAreNoText() {
    var reader = ConfigurationReader(defaults: Configuration())
    reader.read(Array("[Log]\nLevel=".utf8) + [0xFF, 0xFE, 0x0A] + (128...255), file: "t.conf")
    let diagnostics = reader.finish().1
    #expect(diagnostics.map(\.line) == [2, 3])
    #expect(diagnostics.allSatisfy { $0.severity == .error })
  }

  @Test("is used without an invalid [User] section", arguments: ["[User]", "[User \"4294967295\"]"])
  func wrongUser(header: String) {
    var reader = ConfigurationReader(defaults: Configuration())
    reader.read(Array("\(header)\nShare=2\n[User \"7\"]\nShare=3\n".utf8), file: "t.conf")
    let (configuration, diagnostics) = reader.finish()
    #expect(configuration.weights == [7: 3])
    #expect(diagnostics.map(\.severity) == [.mistake])
  }
}
