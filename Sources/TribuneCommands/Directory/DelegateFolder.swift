// SPDX-License-Identifier: Apache-2.0

import Glibc
import Tribune
import TribuneSystem
import TribuneWire

/// Keeps the executables of a folder attached, each as a delegate of its own, and goes along with what
/// changes there.
///
/// It never believes what the kernel says has happened: whatever it was, the folder is looked through again.
/// So nothing is missed when changes come faster than they are read.
actor DelegateFolder {
  /// What all of the delegates have in common.
  struct Terms: Sendable {
    var object: String
    var onFailure: Tribune.FailurePolicy
    var timeout: Duration?
    var protocols: [String]
  }

  private struct Member {
    let delegate: FileDelegate
    let attachment: Attachment
  }

  /// What of a watched folder counts.
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
  /// What has been said to be wrong, and is still.
  private var problems: Set<String> = []
  private let (ends, ended) = AsyncStream<CommandError>.makeStream()

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

  /// Attaches what is there, says that it is ready, and goes along with the changes until the bus is gone.
  func run() async -> CommandError {
    follow(connection)
    let wrong = await rescan(isFirst: true)
    let about = terms.object.isEmpty ? "any object" : "object \(terms.object.terminalSafe)"
    context.reportReady(
      "attached \(String(decoding: root, as: UTF8.self).terminalSafe) "
        + "(\(about), \(members.count.counted("delegate")))")
    report(wrong)
    let changes = Task {
      for await news in watch.news where matters(news) { report(await rescan()) }
    }
    defer { changes.cancel() }
    for await end in ends { return end }
    // The task was cancelled, and nobody waits.
    return .ended(ExitStatus.success)
  }

  /// Without the connection there is nothing left to do.
  private func follow(_ connection: Connection) {
    Task { [ended] in
      if let error = await connection.closed() { ended.yield(CommandError(error)) }
    }
  }

  // MARK: Looking through the folder

  private func matters(_ news: FolderWatch.News) -> Bool {
    guard case .changes(let changes) = news else { return true }
    return changes.contains { change in
      switch interests[change.watch] {
      case .all: true
      case .names(let names): change.name.isEmpty || names.contains(change.name)
      // Of a folder that is not watched any more.
      case nil: false
      }
    }
  }

  /// - Returns: what is wrong.
  private func rescan(isFirst: Bool = false) async -> [String] {
    let before = interests
    interests = [:]
    watchWay()
    let contents = DelegateFolderContents.read(root) { folder throws(Errno) in
      interests[try watch.watch(folder)] = .all
    }
    for watched in before.keys where interests[watched] == nil { watch.unwatch(watched) }
    await retire(members.keys.filter { !contents.files.contains($0) }.sorted())
    return contents.problems + (await attach(contents.files, isFirst: isFirst))
  }

  /// Says what is wrong and was not before.
  private func report(_ wrong: [String]) {
    for problem in wrong where !problems.contains(problem) { context.terminal.report(problem) }
    problems = Set(wrong)
  }

  /// Watches each folder on the way to the root for the next step of the way, so that a root that comes,
  /// goes or is put in the place of another is noticed.
  private func watchWay() {
    let slash = UInt8(ascii: "/")
    var folder: [UInt8] = root.first == slash ? [slash] : [UInt8(ascii: ".")]
    for step in root.split(separator: slash) {
      if let watched = watched(folder) {
        var names: Set<[UInt8]> = [Array(step)]
        if case .names(let others) = interests[watched] { names.formUnion(others) }
        interests[watched] = .names(names)
      }
      folder += [slash] + step
    }
  }

  private func watched(_ folder: [UInt8]) -> CInt? {
    do throws(Errno) {
      return try watch.watch(folder)
    } catch {
      // What is not there yet comes in a folder that is watched. What may not be read is left unwatched.
      return nil
    }
  }

  // MARK: Going

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
      say("detached \(file.description)")
    }
  }

  private func remove(_ file: DelegateFile, _ member: Member) async {
    // It may have come back meanwhile.
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
      // By which it has left the chain, too.
      if error.code == .connectionLost { return }
      context.terminal.report("delegate \(attachment.id) cannot be detached: \(error.message.terminalSafe)")
    }
  }

  // MARK: Coming

  /// - Returns: what is wrong.
  private func attach(_ files: Set<DelegateFile>, isFirst: Bool) async -> [String] {
    let coming = files.filter { members[$0]?.delegate.isRetired != false }.sorted()
    if members.isEmpty { places = ChainPlaces(coming) }
    for file in coming where places.order(of: file) == nil {
      if places.insert(file) == nil { return await renumber(files) }
    }
    var wrong: [String] = []
    for file in coming {
      if let member = members[file] {
        member.delegate.revive()
        say("attached \(file.description) (delegate \(member.attachment.id))")
        continue
      }
      do throws(TribuneError) {
        let member = try await attach(file, over: connection)
        members[file] = member
        if !isFirst { say("attached \(file.description) (delegate \(member.attachment.id))") }
      } catch {
        places.remove(file)
        wrong.append("\(file.description) cannot be attached: \(error.message.terminalSafe)")
      }
    }
    return wrong
  }

  private func attach(_ file: DelegateFile, over connection: Connection) async throws(TribuneError) -> Member
  {
    let slash = UInt8(ascii: "/")
    let delegate = FileDelegate(
      path: root + [slash] + Array(file.pattern.utf8) + [slash] + file.name, label: file.label, by: runner,
      log: log)
    guard let order = places.order(of: file) else {
      preconditionFailure("a file is attached without a place")
    }
    let attachment = try await bounded(by: context.timeout) {
      [terms] () async throws(TribuneError) -> Attachment in
      try await connection.attach(
        delegate, to: terms.object, respondingTo: [file.pattern], order: order, onFailure: terms.onFailure,
        timeout: terms.timeout, label: file.label, conformingTo: terms.protocols)
    }
    return Member(delegate: delegate, attachment: attachment)
  }

  /// Gives everybody a new place, where there was no room. The bus takes the same delegate with another
  /// order for the one that it has, so the new ones come over a connection of their own; the old ones go
  /// when these are there, so that no question finds nobody.
  ///
  /// - Returns: what is wrong.
  private func renumber(_ files: Set<DelegateFile>) async -> [String] {
    let (oldConnection, oldMembers, oldPlaces) = (connection, members, places)
    var new: [DelegateFile: Member] = [:]
    do throws(TribuneError) {
      let connection = try await context.connectToStay(missing: "notification")
      places = ChainPlaces(files)
      for file in files.sorted() { new[file] = try await attach(file, over: connection) }
      self.connection = connection
    } catch {
      places = oldPlaces
      for file in oldPlaces.keys where oldMembers[file] == nil { places.remove(file) }
      return ["\(files.count.counted("delegate")) cannot be attached anew: \(error.message.terminalSafe)"]
    }
    follow(connection)
    members = new
    for (file, member) in new.sorted(by: { $0.key < $1.key }) where oldMembers[file] == nil {
      say("attached \(file.description) (delegate \(member.attachment.id))")
    }
    Task {
      for member in oldMembers.values { _ = member.delegate.retire() }
      for member in oldMembers.values { _ = await member.delegate.idle() }
      await oldConnection.close()
    }
    return []
  }

  private func say(_ line: String) {
    if !context.isQuiet { context.terminal.reportLine(line) }
  }
}
