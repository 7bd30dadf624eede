// SPDX-License-Identifier: Apache-2.0

import TribuneTestSupport
import TribuneWire

extension Life {
  func ask(_ link: Link, whileAnswering question: AskedQuestion? = nil) {
    var flags: QueryFlags = []
    let mode = random.pick(QueryMode.allCases)
    if random.oneIn(6) { flags.insert(.isDryRun) }
    if random.oneIn(8), !mode.isForValues { flags.insert(.overrides) }
    if random.oneIn(3) { flags.insert(.wantsProgress) }
    let mayBegin = !mode.isForValues && !flags.contains(.isDryRun) && random.oneIn(3)
    let parent = question?.query ?? parent(for: link)
    let names = mode.isForValues ? Naming.valueNames : Naming.queryNames
    var (name, object) = (random.pick(names), random.pick(Naming.objects))
    // The bus must refuse a query nested in one with the same name and object.
    if let parent, random.oneIn(2) {
      let ancestors = sequence(first: parent, next: \.parent)
        .filter { $0.mode.isForValues == mode.isForValues }
      if let ancestor = ancestors.randomElement(using: &random) {
        (name, object) = (ancestor.name, ancestor.object)
      }
    }
    if mayBegin { flags.insert(.begins) }
    let query = Query(
      number: number(), link: link, serial: link.serial(), name: name, object: object, mode: mode,
      fallback: random.oneIn(3) ? .vetoed : .allowed, flags: flags,
      slots: !mode.isForValues && random.oneIn(3) ? random.pick([1, 1, 2]) : 0,
      deadline: random.oneIn(4) ? nil : UInt32.random(in: 20...3000, using: &random))
    // The bus treats an unknown parent id as none.
    query.parentID =
      parent?.id ?? (random.oneIn(16) ? UInt64.random(in: 1 << 40...(.max), using: &random) : 0)
    query.parent = parent
    ask(query)
  }

  func ask(_ query: Query) {
    queries.append(query)
    query.link.compose(.ask(query), serial: query.serial, awaitsReply: true) {
      $0.appendFrame(
        Ask(
          deadline: query.deadline, mode: query.mode, fallback: query.fallback, parent: query.parentID,
          flags: query.flags, overrideReason: query.flags.contains(.overrides) ? "because" : "",
          slots: query.slots),
        serial: query.serial, name: query.name, object: query.object, text: "\(query.number);")
    }
  }

  private func parent(for link: Link) -> Query? {
    guard link.cookie != 0, random.oneIn(2) else { return nil }
    switch Int.random(in: 0..<8, using: &random) {
    case 0: return link.questions.randomElement(using: &random)?.query
    case 1: return queries.filter { $0.id != 0 && $0.link.epoch == link.epoch }.randomElement(using: &random)
    default: return link.questions.filter { !$0.isAnswered }.randomElement(using: &random)?.query
    }
  }

  func answer(_ link: Link) {
    guard let question = link.questions.filter({ !$0.isAnswered }).randomElement(using: &random)
    else { return }
    if random.oneIn(3) { return ask(link, whileAnswering: question) }
    let (query, delegate) = (QueryID(rawValue: question.query.id), DelegateID(rawValue: question.delegate))
    let serial = link.serial()
    if random.oneIn(5) {
      let span = UInt32.random(in: 10...random.pick([800, 3000]), using: &random)
      link.compose(.defer(question, span), serial: serial) {
        $0.appendFrame(
          Defer(query: query, delegate: delegate, extension: span), serial: serial, text: "later")
      }
      return
    }
    question.isAnswered = true
    question.text = "w\(number())" + String(repeating: "w", count: random.oneIn(20) ? 2000 : 0)
    let isForValue = question.query.mode.isForValues
    let kind = random.pick(
      isForValue
        ? [.value, .value, .abstain, .failed, .approve]
        : [AnswerKind.approve, .approve, .approve, .veto, .abstain, .failed])
    link.compose(.answer(question, kind), serial: serial) {
      $0.appendFrame(
        Answer(query: query, delegate: delegate, answer: kind), serial: serial, text: question.text)
    }
  }
}
