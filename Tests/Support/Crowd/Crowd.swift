// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import Tribune

/// Many clients of a bus, each with a connection, that account for what they send and receive. A test adds up
/// one crowd inside and one outside of a container.
///
///     crowd SIDE SEED OBSERVERS POSTERS DELEGATES ASKERS HOLDERS
///
/// It prints:
///
///     connection :7            first, one for each connection
///     ready                    everything is registered
///     progress                 the bus has answered `Account.step` more posts and questions
///
/// After the line `stop` on standard input:
///
///     stopped                  all posters and askers have finished
///
/// After `settle`:
///
///     settled                  the bus has just answered every observer
///
/// After `account`, sent once the bus has taken the last post, `load.end`:
///
///     posted POSTER COUNT      numbers 1 to COUNT were used by the poster
///     unsure POSTER NUMBER     the bus may have taken that number
///     observed OBSERVER LOST   losses that were reported to the observer
///     received OBSERVER POSTER RANGE…    the numbers that it received from the poster
///     repeated OBSERVER POSTER NUMBER    a number that came twice, or after a higher one
///     asked COUNT
///     wrong TEXT               an unexpected verdict, for the test to judge
///     broken CLIENT TEXT       an unexpected error of a client
///     end
@main
struct Crowd {
  let size: Size
  let account: Account
  let commands: AsyncStream<String>
  private let stopping = Flag()

  /// The number of clients of each kind. Both crowds have equally many delegates and holders.
  struct Size {
    var side: String
    var seed: UInt64
    var observers: Int
    var posters: Int
    var delegates: Int
    var askers: Int
    var holders: Int

    init?(_ arguments: [String]) {
      let numbers = arguments.dropFirst().map { UInt64($0) }
      guard arguments.count == 7, !numbers.contains(nil) else { return nil }
      side = arguments[0]
      seed = numbers[0] ?? 0
      let counts = numbers.dropFirst().map { Int($0 ?? 0) }
      (observers, posters, delegates, askers, holders) = (
        counts[0], counts[1], counts[2], counts[3], counts[4]
      )
    }
  }

  static func main() {
    guard let size = Size(Array(CommandLine.arguments.dropFirst())) else {
      say("crowd: SIDE SEED OBSERVERS POSTERS DELEGATES ASKERS HOLDERS")
      exit(2)
    }
    let (commands, reading) = AsyncStream.makeStream(of: String.self)
    Task.detached {
      do {
        try await Crowd(size: size, account: Account(), commands: commands).run()
        exit(0)
      } catch {
        say("broken crowd \(error)")
        exit(1)
      }
    }
    // Reads on the main thread, because it would block a thread that the tasks share.
    while let line = readLine() { reading.yield(line) }
    reading.finish()
    dispatchMain()
  }

  private func run() async throws {
    let observers = try await each(size.observers) { try await Observer(name: $0, connection: .connect()) }
    let delegates = try await each(size.delegates) { name in
      let delegate = try await Judge(connection: .connect())
      try await delegate.attach(as: name)
      return delegate
    }
    let holders = try await each(size.holders) { name in
      let holder = try await Connection.connect()
      try await holder.hold(Question.held, object: name, why: "held by \(name)")
      return holder
    }
    let posters = try await each(size.posters) { try await Poster(name: $0, connection: .connect()) }
    let askers = try await each(size.askers) { try await Asker(name: $0, connection: .connect()) }

    let reading = observers.map { observer in Task { try await observer.observe(account) } }
    for observer in observers { try await observer.settle() }
    for connection in observers.map(\.connection) + delegates.map(\.connection) + holders
      + posters.map(\.connection) + askers.map(\.connection)
    {
      say("connection \(connection.id)")
    }
    say("ready")

    var commands = commands.makeAsyncIterator()
    guard await commands.next() == "start" else { return }
    let working =
      posters.enumerated().map { index, poster in
        Task { await poster.post(seed: size.seed &+ UInt64(index), account, until: stopping) }
      }
      + askers.enumerated().map { index, asker in
        Task { await asker.ask(seed: size.seed &+ 1000 &+ UInt64(index), size, account, until: stopping) }
      }
    while let command = await commands.next() {
      switch command {
      case "stop":
        stopping.raise()
        for task in working { await task.value }
        say("stopped")
      case "settle":
        for observer in observers { try await observer.settle() }
        say("settled")
      case "account":
        for task in reading { try await task.value }
        await account.tell()
        say("end")
      default: say("broken crowd does not know \(command)")
      }
    }
    withExtendedLifetime((delegates, holders)) {}
  }

  private func each<T>(_ count: Int, _ make: (String) async throws -> T) async throws -> [T] {
    var all: [T] = []
    for index in 0..<count { all.append(try await make("\(size.side)-\(index)")) }
    return all
  }
}
