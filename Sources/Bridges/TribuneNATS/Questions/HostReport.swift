// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneJSON
import TribuneWire

/// Makes reports about this host's bus for other hosts.
nonisolated enum HostReport {
  enum Kind: String, Equatable, Sendable, CaseIterable {
    /// The holds on names that other hosts may ask.
    case holds = "cluster.holds"
    /// The holds and delegates that the question in the userInfo would meet.
    case explanation = "cluster.explain"
    /// The processes on other hosts whose notifications or questions came to this host.
    case peers = "cluster.peers"
  }

  struct Peers {
    var posters: [RemotePosters.Poster]
    var questions: [RemoteQuestions.UnderWay]
  }

  private static let rowsMax = 1_000
  /// The limit of each list in bytes. With this limit, a report fits into a NATS message of the default size.
  private static let bytesMax = 300_000

  /// - Parameter patterns: the names that the asker may see; nil for all.
  static func make(
    _ kind: Kind, object: String, userInfo: UserInfo, patterns: [Pattern]?, _ peers: Peers,
    on bus: Connection
  ) async throws(TribuneError) -> [UInt8] {
    switch kind {
    case .holds:
      let holds = try await bus.holds().filter { hold in
        patterns?.contains { overlaps($0, hold.pattern) } ?? true
      }
      return JSONValue.object(rows("holds", holds, json)).compactBytes
    case .explanation:
      guard let name = name(in: userInfo) else {
        throw TribuneError(.invalidName, "the userInfo does not have the name of a question as \"name\"")
      }
      guard patterns?.contains(where: { $0.matches(name.utf8Bytes) }) ?? true else {
        throw TribuneError(.notPermitted, "it does not answer \(name) to other hosts")
      }
      let explanation = try await bus.explain(name, object: object)
      // The delegates of a gateway abstain if a gateway asks, so the report omits them.
      let delegates = explanation.delegates.filter { $0.process != LoopRule.process }
      return JSONValue.object(
        rows("holds", explanation.holds, json) + rows("delegates", delegates, json)
          + [("missing", .array(explanation.missing.prefix(rowsMax).map { .string($0) }))]
      ).compactBytes
    case .peers:
      let questions = peers.questions.filter { question in
        patterns?.contains { $0.matches(question.name.utf8Bytes) } ?? true
      }
      // Other hosts must not learn which notifications this host imports.
      return JSONValue.object(
        rows("posts", patterns == nil ? peers.posters : [], json) + rows("questions", questions, json)
      ).compactBytes
    }
  }

  private static func overlaps(_ pattern: Pattern, _ text: String) -> Bool {
    do throws(WireError) {
      return pattern.overlaps(try Pattern(text))
    } catch {
      return false
    }
  }

  private static func name(in userInfo: UserInfo) -> String? {
    do throws(JSONText.SyntaxError) {
      guard let name = try JSONDocument(userInfo.bytes.rawBytes).root["name"]?.string else { return nil }
      return NameSyntax.isName(name.utf8Bytes) ? name : nil
    } catch {
      return nil
    }
  }

  private static func rows<Row>(
    _ name: String, _ rows: [Row], _ json: (Row) -> JSONValue
  ) -> [(name: String, value: JSONValue)] {
    var listed: [JSONValue] = []
    var bytes = 0
    for row in rows.prefix(rowsMax) {
      let value = json(row)
      bytes += value.compactBytes.count
      guard bytes <= bytesMax else { break }
      listed.append(value)
    }
    let omitted = rows.count - listed.count
    return [(name, .array(listed))] + (omitted > 0 ? [("\(name)Omitted", .integer(omitted))] : [])
  }

  private static func json(_ hold: HoldInfo) -> JSONValue {
    .object([
      ("name", .string(hold.pattern)), ("object", .string(hold.object)), ("label", .string(hold.label)),
      ("why", .string(hold.why)), ("pid", .integer(Int(hold.pid))), ("uid", .integer(Int(hold.uid))),
      ("process", .string(hold.process)), ("unit", .string(hold.unit)), ("age", .seconds(hold.age)),
      ("expiresIn", hold.expiresIn.map { .seconds($0) } ?? .null),
    ])
  }

  private static func json(_ poster: RemotePosters.Poster) -> JSONValue {
    .object(
      [
        ("host", .string(poster.host)), ("name", .string(poster.name)), ("count", .integer(poster.count)),
        ("age", .seconds(ContinuousClock.now - poster.at)),
      ] + poster.peer.members)
  }

  private static func json(_ question: RemoteQuestions.UnderWay) -> JSONValue {
    .object(
      [
        ("host", .string(question.host)), ("name", .string(question.name)),
        ("object", .string(question.object)), ("age", .seconds(ContinuousClock.now - question.began)),
      ] + question.asker.members)
  }

  private static func json(_ delegate: DelegateInfo) -> JSONValue {
    .object([
      ("label", .string(delegate.label)), ("pid", .integer(Int(delegate.pid))),
      ("uid", .integer(Int(delegate.uid))), ("process", .string(delegate.process)),
      ("unit", .string(delegate.unit)), ("order", .integer(Int(delegate.order))),
      ("onFailure", .string(delegate.failurePolicy.rawValue)), ("timeout", .seconds(delegate.timeout)),
    ])
  }
}
