// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tribune
import TribuneSystem
import TribuneWire

/// Attaches each executable of a folder as a delegate, and follows changes of the folder.
///
/// After each change, this type reads the whole folder again, because single changes may arrive faster than
/// this type could handle them.
actor DelegateFolder {
  struct Terms: Sendable {
    var object: String
    var onFailure: Tribune.FailurePolicy
    var timeout: Duration?
    var protocols: [String]
  }

  private struct Member {
    let delegate: CommandDelegate
    let attachment: Attachment
    let number: Int
  }

  private struct Loss: Sendable {
    let file: DelegateFile
    let number: Int
    let why: String
  }

  private enum Look {
    case change
    /// The folder has not changed for a second.
    case rest
  }

  private enum Interest {
    case all
    case names(Set<[UInt8]>)
  }

  private let root: [UInt8]
  private let terms: Terms
  private let context: Context
  private let log: AnswerLog
  private let runner: CommandRunner
  private let watch: FolderWatch
  private var interests: [CInt: Interest] = [:]

  private var connection: Connection
  private var members: [DelegateFile: Member] = [:]
  private var places = ChainPlaces<DelegateFile>()
  /// Holds for files that the bus refuses as delegates. Without these holds, questions would pass as if the
  /// files did not exist.
  private var vetoes: [DelegateFile: Tribune.Hold] = [:]
  private var former: [(connection: Connection, delegates: [CommandDelegate])] = []
  private var problems: Set<String> = []
  /// The number of refused files that should veto, but cannot: they have neither a hold nor a gate (`gates`).
  private var refusedCount = 0
  /// True if no file has a delegate or a hold, because the bus refused all of them.
  private var isRefused = false
  /// Gates, by pattern: a gate is a delegate that vetoes until all files of its pattern are attached, because
  /// a missing file might veto.
  private var gates: [String: (delegate: IncompleteFolder, attachment: Attachment)] = [:]
  private var attachedCount = 0
  private let losses = Mutex<[Loss]>([])
  private var retry: Task<Void, Never>?
  private var retryPause = DelegateFolder.retryPauseMin
  /// The paths of detached files. This type has reported that such a file was detached, so it need not also
  /// report that the file is not executable.
  private var detached: Set<[UInt8]> = []
  private let (ends, ended) = AsyncStream<CommandError>.makeStream()
  private let (looks, wanted) = AsyncStream<Look>.makeStream(bufferingPolicy: .bufferingNewest(1))
  /// Waits a second. If the folder does not change meanwhile, its files are probably complete.
  private var rest: Task<Void, Never>?

  private static let retryPauseMin = Duration.seconds(1)
  private static let retryPauseMax = Duration.seconds(10)

  init(
    _ root: [UInt8], on terms: Terms, over connection: Connection, by runner: CommandRunner, log: AnswerLog,
    in context: Context
  ) throws(Errno) {
    self.root = root
    self.terms = terms
    self.context = context
    self.log = log
    self.runner = runner
    self.connection = connection
    watch = try FolderWatch()
  }

  func run() async -> CommandError {
    do throws(Errno) {
      _ = try Folder.names(in: root)
    } catch {
      let path = String(decoding: root, as: UTF8.self).terminalSafe
      return .failure("\(path) cannot be read: \(error). Its files would veto nothing")
    }
    follow(connection)
    await rescan(isFirst: true)
    let path = String(decoding: root, as: UTF8.self).terminalSafe
    if isRefused { return .failure("\(path): the bus refuses all files, so none would veto") }
    context.reportReady(
      "attached \(path) "
        + "(\(objectText(terms.object)), \(members.count.counted("delegate"))"
        + (vetoes.isEmpty ? "" : ", \(vetoes.count.counted("veto")) instead of refused files")
        + (refusedCount == 0 ? "" : ", \(refusedCount.counted("refused file")) without a veto")
        + "\(DelegateCommand.valuesText(Set(members.keys.map(\.pattern)).sorted())))")
    let changes = Task { [wanted] in
      for await news in watch.news where matters(news) { wanted.yield(.change) }
    }
    let rescans = Task { for await look in looks { await rescan(hasRested: look == .rest) } }
    defer {
      for task in [changes, rescans] { task.cancel() }
      rest?.cancel()
      retry?.cancel()
    }
    for await end in ends { return end }
    return .ended(ExitStatus.success)
  }

  private func follow(_ connection: Connection) {
    Task { [ended] in
      if let error = await connection.closed() { ended.yield(CommandError(error)) }
    }
  }

  // MARK: Reading the folder

  private func matters(_ news: FolderWatch.News) -> Bool {
    guard case .changes(let changes) = news else { return true }
    return changes.contains { change in
      switch interests[change.watch] {
      case .all: true
      case .names(let names): change.name.isEmpty || names.contains(change.name)
      case nil: false
      }
    }
  }

  private func rescan(isFirst: Bool = false, hasRested: Bool = false) async {
    takeLosses()
    let before = interests
    interests = [:]
    var contents = DelegateFolderContents.read(
      root, watch: { folder throws(Errno) in interests[try watch.watch(folder)] = .all },
      follow: { watchSteps(to: $0) })
    for file in contents.files {
      guard let lack = context.lackOfAskers(of: [file.pattern]) else { continue }
      contents.files.remove(file)
      contents.problems.append("\(file.description) cannot be attached: \(lack)")
    }
    if contents.unseen.isEmpty {
      for watched in before.keys where interests[watched] == nil { watch.unwatch(watched) }
    } else {
      interests.merge(before) { new, _ in new }
    }
    detached.formIntersection(contents.unfinished.keys)
    // A file that cannot be examined may still veto, so its delegate stays.
    let files = contents.files.union(members.keys.filter { contents.mayHave($0, in: root) })
    // Files that are gone are detached last. So a renamed file is always attached, under at least one name.
    let gone = members.keys.filter { !files.contains($0) }.sorted()
    await closeGates(for: files.filter(isComing))
    let wrong = await attach(files, isFirst: isFirst)
    await openGates(unlessMissing: files)
    refusedCount = files.count {
      members[$0] == nil && vetoes[$0] == nil && gates[$0.pattern] == nil && terms.onFailure == .veto
    }
    isRefused =
      !files.isEmpty && members.isEmpty && vetoes.isEmpty && terms.onFailure == .veto && !connection.hasEnded
    retryLater(unless: wrong.isEmpty)
    await retire(gone)
    for file in vetoes.keys where !files.contains(file) { await liftVeto(of: file) }
    reportNew(
      contents.problems + wrong,
      unfinished: contents.unfinished.filter { !detached.contains($0.key) }.values.sorted(),
      isFinal: isFirst || hasRested)
  }

  private func takeLosses() {
    let losses = losses.withLock { losses in
      defer { losses = [] }
      return losses
    }
    for loss in losses {
      guard let member = members[loss.file], member.number == loss.number else { continue }
      members[loss.file] = nil
      places.remove(loss.file)
      if !member.delegate.isRetired { context.terminal.report("\(loss.file.description) was \(loss.why)") }
    }
  }

  /// Schedules another attempt to attach refused files. The bus does not announce when it would accept them.
  private func retryLater(unless isDone: Bool) {
    retry?.cancel()
    guard !isDone else {
      retryPause = Self.retryPauseMin
      return
    }
    let pause = retryPause
    retryPause = min(pause * 2, Self.retryPauseMax)
    retry = Task { [wanted] in
      await sleep(pause)
      if !Task.isCancelled { wanted.yield(.change) }
    }
  }

  private func reportNew(_ wrong: [String], unfinished: [String], isFinal: Bool) {
    rest?.cancel()
    if !isFinal, !problems.isSuperset(of: unfinished) {
      rest = Task { [wanted] in
        await sleep(.seconds(1))
        if !Task.isCancelled { wanted.yield(.rest) }
      }
    }
    let wrong = wrong + unfinished.filter { isFinal || problems.contains($0) }
    for problem in wrong where !problems.contains(problem) { context.terminal.report(problem) }
    problems = Set(wrong)
  }

  /// Watches each folder on the path, because each component may appear, disappear or be replaced.
  private func watchSteps(to path: [UInt8]) {
    Folder.forEachStep(to: path) { folder, name in
      guard let watched = watched(folder) else { return }
      switch interests[watched] {
      case .all: break
      case .names(let names): interests[watched] = .names(names.union([name]))
      case nil: interests[watched] = .names([name])
      }
    }
  }

  private func watched(_ folder: [UInt8]) -> CInt? {
    do throws(Errno) {
      return try watch.watch(folder)
    } catch {
      // The parent's watch reports the creation of a missing folder. An unreadable folder stays unwatched.
      return nil
    }
  }

  // MARK: Vetoing for refused files

  /// - Parameter veto: the file's hold from an earlier refusal over this connection; nil if there is none.
  private func refuse(
    _ file: DelegateFile, _ error: TribuneError, over connection: Connection, veto: Tribune.Hold? = nil
  ) async -> (report: String, veto: Tribune.Hold?) {
    let refusal = "\(file.description) cannot be attached: \(error.attachmentMessage)"
    guard terms.onFailure == .veto, !ActionNames.isValue(file.pattern) else { return (refusal, veto) }
    let vetoed = "\(refusal); its questions are vetoed"
    if let veto { return (vetoed + veto.limit, veto) }
    do throws(TribuneError) {
      let veto = try await bounded(by: context.timeout) {
        [terms] () async throws(TribuneError) -> Tribune.Hold in
        try await connection.hold(
          file.pattern, object: terms.object.isEmpty ? nil : terms.object, why: refusal, label: file.label)
      }
      return (vetoed + veto.limit, veto)
    } catch {
      return ("\(refusal); its questions are not vetoed: \(error.message.terminalSafe)", nil)
    }
  }

  private func liftVeto(of file: DelegateFile) async {
    guard let hold = vetoes.removeValue(forKey: file) else { return }
    do throws(TribuneError) {
      try await hold.release()
    } catch {
      if error.code == .connectionLost { return }
      context.terminal.report(
        "the veto of \(file.description) cannot be lifted: \(error.message.terminalSafe)")
    }
  }

  // MARK: Detaching

  private func retire(_ files: [DelegateFile]) async {
    for file in files {
      guard let member = members[file], !member.delegate.isRetired else { continue }
      if member.delegate.retire() {
        await remove(file, member)
      } else {
        Task {
          if await member.delegate.idle() { await remove(file, member) }
        }
      }
      detached.insert(file.path(in: root))
      reportChange("detached \(file.description)")
    }
  }

  private func remove(_ file: DelegateFile, _ member: Member) async {
    // The file may have come back since its delegate was retired.
    guard member.delegate.isRetired else { return }
    if members[file]?.delegate === member.delegate {
      members[file] = nil
      places.remove(file)
    }
    await detach(member.attachment)
  }

  private func detach(_ attachment: Attachment) async {
    do throws(TribuneError) {
      try await attachment.detach()
    } catch {
      // The end of the connection has already detached the delegate.
      if error.code == .connectionLost { return }
      context.terminal.report(
        "delegate \(attachment.id) cannot be detached: \(error.message.terminalSafe)")
    }
  }

  // MARK: Attaching

  /// Attaches gates before the first file. Otherwise, the first file alone would satisfy
  /// `RequireDelegate=unit:`, while the other files are still missing.
  private func closeGates(for files: Set<DelegateFile>) async {
    for pattern in DelegateFile.sharedPatterns(of: files) where gates[pattern] == nil {
      let gate = IncompleteFolder(root)
      do throws(TribuneError) {
        let attachment = try await attach(
          gate, for: pattern, label: "\(pattern.prefix(utf8Length: WireLimits.labelLength - 1))/",
          order: .min, over: connection, onRefusal: { _ in })
        gates[pattern] = (gate, attachment)
      } catch {
        // The bus will also refuse the files of this pattern, and the caller reports the files' refusals.
        continue
      }
    }
  }

  private func openGates(unlessMissing files: Set<DelegateFile>) async {
    let missing = Set(files.filter { members[$0] == nil }.map(\.pattern))
    for (pattern, gate) in gates where !missing.contains(pattern) {
      gates[pattern] = nil
      await detach(gate.attachment)
    }
  }

  /// True for a new file, and for a file that came back before its retired delegate was detached.
  private func isComing(_ file: DelegateFile) -> Bool { members[file]?.delegate.isRetired != false }

  private func attach(_ files: Set<DelegateFile>, isFirst: Bool) async -> [String] {
    let coming = files.filter(isComing).sorted()
    if members.isEmpty { places = ChainPlaces(coming) }
    for file in coming where places.order(of: file) == nil {
      if places.insert(file) == nil { return await renumber(files) }
    }
    var wrong: [String] = []
    var tried: Set<DelegateFile> = []
    while let file = coming.first(where: { members[$0] == nil && !tried.contains($0) }) {
      tried.insert(file)
      // While another file was being attached, `remove` may have taken this file from `places`.
      if places.order(of: file) == nil, places.insert(file) == nil { return await renumber(files) }
      do throws(TribuneError) {
        let member = try await attach(file, over: connection)
        members[file] = member
        await liftVeto(of: file)
        if !isFirst { reportAttached(file, member) }
      } catch {
        places.remove(file)
        let refused = await refuse(file, error, over: connection, veto: vetoes[file])
        vetoes[file] = refused.veto
        wrong.append(refused.report)
      }
    }
    // Retired delegates whose files came back are revived last, all without an `await` in between. Otherwise,
    // one of them could approve a question while the others still abstain from it.
    for file in coming {
      guard let member = members[file], member.delegate.isRetired else { continue }
      member.delegate.revive()
      reportAttached(file, member)
    }
    return wrong
  }

  private func attach(_ file: DelegateFile, over connection: Connection) async throws(TribuneError) -> Member
  {
    attachedCount += 1
    let number = attachedCount
    let lose = { @Sendable [weak self, wanted] (why: String) in
      self?.losses.withLock { $0.append(Loss(file: file, number: number, why: why)) }
      _ = wanted.yield(.change)
    }
    let delegate = CommandDelegate(
      file: file.path(in: root), label: file.label, by: runner, log: log,
      isBroken: { [wanted] in wanted.yield(.change) }, isReplaced: { lose("replaced by \($0.participant)") })
    guard let order = places.order(of: file) else {
      preconditionFailure("a file that is attached has no position in the chain")
    }
    let attachment = try await attach(
      delegate, for: file.pattern, label: file.label, order: order, over: connection,
      onRefusal: { lose("detached: \($0.message.terminalSafe)") })
    return Member(delegate: delegate, attachment: attachment, number: number)
  }

  private func attach(
    _ delegate: some Delegate, for pattern: String, label: String, order: Int32, over connection: Connection,
    onRefusal: @escaping @Sendable (TribuneError) -> Void
  ) async throws(TribuneError) -> Attachment {
    try await bounded(by: context.timeout) { [terms] () async throws(TribuneError) -> Attachment in
      try await connection.attach(
        delegate, to: terms.object, respondingTo: [pattern], order: order, onFailure: terms.onFailure,
        timeout: terms.timeout, label: label, conformingTo: terms.protocols, onRefusal: onRefusal)
    }
  }

  /// Gives all files new `order` values, because two neighbours leave no free value for a file between them.
  /// This needs a new connection: one connection cannot attach two delegates that differ only in `order`. The
  /// old delegates stay until the new ones are attached, so every question finds a delegate.
  private func renumber(_ files: Set<DelegateFile>) async -> [String] {
    let (oldConnection, oldMembers, oldPlaces) = (connection, members, places)
    var new: [DelegateFile: Member] = [:]
    var held: [DelegateFile: Tribune.Hold] = [:]
    var wrong: [String] = []
    do throws(TribuneError) {
      let connection = try await context.connectToStay(missing: "notification")
      places = ChainPlaces(files)
      for file in files.sorted() {
        do throws(TribuneError) {
          new[file] = try await attach(file, over: connection)
        } catch  where oldMembers[file] == nil {
          let refused = await refuse(file, error, over: connection)
          held[file] = refused.veto
          wrong.append(refused.report)
        }
      }
      self.connection = connection
    } catch {
      places = oldPlaces
      for file in oldPlaces.keys where oldMembers[file] == nil { places.remove(file) }
      wrong = ["\(files.count.counted("delegate")) cannot be attached again: \(error.attachmentMessage)"]
      for file in files.sorted() where oldMembers[file] == nil {
        let refused = await refuse(file, error, over: oldConnection, veto: vetoes[file])
        vetoes[file] = refused.veto
        wrong.append(refused.report)
      }
      return wrong
    }
    follow(connection)
    members = new
    vetoes = held
    // The old gates end with the old connection.
    gates = [:]
    await closeGates(for: files.filter { members[$0] == nil })
    for file in held.keys { places.remove(file) }
    for (file, member) in new.sorted(by: { $0.key < $1.key }) where oldMembers[file] == nil {
      reportAttached(file, member)
    }
    let oldDelegates = oldMembers.values.map(\.delegate)
    for delegate in oldDelegates { delegate.retire() }
    former.append((oldConnection, oldDelegates))
    Task {
      for delegate in oldDelegates { await delegate.idle() }
      await oldConnection.close()
      former.removeAll { $0.connection === oldConnection }
    }
    return wrong
  }

  /// Closes the connections, so the bus expects no more answers. Then waits until the delegates have learned
  /// that their open questions have ended.
  func end() async {
    let all = former + [(connection, members.values.map(\.delegate))]
    for (connection, _) in all { await connection.close() }
    for delegate in all.flatMap(\.delegates) {
      delegate.retire()
      await delegate.idle()
    }
  }

  private func reportAttached(_ file: DelegateFile, _ member: Member) {
    let values = DelegateCommand.valuesText([file.pattern])
    reportChange("attached \(file.description) (delegate \(member.attachment.id)\(values))")
  }

  private func reportChange(_ line: String) {
    if !context.isQuiet { context.terminal.reportLine(line) }
  }
}

/// A gate, which vetoes until all files of its pattern are attached.
private final class IncompleteFolder: Delegate {
  private let root: [UInt8]

  init(_ root: [UInt8]) { self.root = root }

  func answer(_ question: Tribune.Question) async -> Tribune.Answer {
    if question.wantsValue { return .abstain }
    return .veto("not all programs of \(String(decoding: root, as: UTF8.self)) are attached")
  }

  func replaced(by delegate: DelegateInfo) async {}
}

extension Tribune.Hold {
  /// The bus ends even this hold at its limit.
  fileprivate var limit: String { expiresIn.map { " for \($0.formatted)" } ?? "" }
}
