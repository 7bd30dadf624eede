// SPDX-License-Identifier: Apache-2.0

import Testing
import TribuneWire

@testable import TribuneNATS

@Suite("Subjects of a cluster", .timeLimit(.minutes(15)))
struct SubjectsTests {
  private let here = Subjects(cluster: "shop", host: "db1")
  private let there = Subjects(cluster: "shop", host: "db2")

  @Test("Hosts understand each other's subjects")
  func roundTrip() {
    #expect(there.parse(here.post("backup.didFinish")) == .post(from: "db1", name: "backup.didFinish"))
    #expect(there.parse(here.durable("backup.didFinish")) == .durable(from: "db1", name: "backup.didFinish"))
    #expect(
      there.parse(here.ask("db2", "cluster.shouldReboot")) == .ask(from: "db1", name: "cluster.shouldReboot"))
    #expect(there.parse(here.cancel(at: "db2")) == .cancel(from: "db1"))
    #expect(there.parse(here.lease("a.b")) == .lease(from: "db1", name: "a.b"))
    #expect(there.parse(here.presence) == .presence(of: "db1"))
    #expect(here.parse(here.reply(of: "db2", token: "t")) == .reply(from: "db2", token: "t"))
  }

  @Test(
    "A pattern of names is a pattern of subjects",
    arguments: [
      ("backup.didFinish", "tribune.v1.shop.post.*.backup.didFinish"),
      ("*.did", "tribune.v1.shop.post.*.*.did"),
      ("backup.**", "tribune.v1.shop.post.*.backup.>"), ("**", "tribune.v1.shop.post.*.>"),
    ])
  func patterns(pattern: String, subject: String) throws {
    #expect(here.posts(matching: try Pattern(pattern)) == subject)
  }

  @Test(
    "Subjects from this host, for another host, or of no known form are ignored",
    arguments: [
      "tribune.v1.shop.post.db1.a", "tribune.v1.other.post.db2.a", "tribune.v1.shop.post.db2",
      "tribune.v1.shop.post.db2.", "tribune.v1.shop.post.db2.a..b", "tribune.v1.shop.post.db2.tribune.bus.x",
      "tribune.v1.shop.post.db2.\u{e9}", "tribune.v1.shop.ask.db2.db3.a", "tribune.v1.shop.ask.db2.db1",
      "tribune.v1.shop.cancel.db2.db3", "tribune.v1.shop.cancel.db2", "tribune.v1.shop.reply.db2.db3.t",
      "tribune.v1.shop.reply.db2.db1", "tribune.v1.shop.presence.db1", "tribune.v1.shop.presence.db2.x",
      "tribune.v1.shopping.presence.db2", "tribune.v1.shop", "", "tribune.v1.shop.nothing.db2.a",
      "tribune.v1.shop.durable.db1.a", "tribune.v1.shop.durable.db2", "tribune.v1.shop.durable.db2.tribune.x",
      "tribune.v1.shop.deliver.db1", "tribune.v1.shop.lease.db1.a", "tribune.v1.shop.lease.db2",
      "tribune.v1.shop.lease.db2.",
    ])
  func foreign(subject: String) { #expect(here.parse(subject) == nil) }

  @Test(
    "A host replies only at its own reply subjects of the asker",
    arguments: [
      ("tribune.v1.shop.reply.db1.db2.token", true), ("tribune.v1.shop.reply.db1.db3.token", false),
      ("tribune.v1.shop.reply.db3.db2.token", false), ("$JS.API.STREAM.DELETE.x", false),
      ("tribune.v1.shop.reply.db1.db2.a.b", false), ("tribune.v1.shop.reply.db1.db2.*", false), ("", false),
      ("tribune.v1.shop.reply.db1.db2.", false),
    ])
  func replies(subject: String, isOne: Bool) { #expect(here.isReply(subject, to: "db2") == isOne) }

  @Test(
    "Names of hosts and clusters are single tokens",
    arguments: [
      ("db1", true), ("a_B-9", true), ("", false), ("a.b", false), ("a b", false), ("*", false), (">", false),
      (String(repeating: "x", count: 63), true), (String(repeating: "x", count: 64), false),
    ])
  func tokens(text: String, isOne: Bool) { #expect(Subjects.isToken(text) == isOne) }
}
