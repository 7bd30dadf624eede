// SPDX-License-Identifier: Apache-2.0

import Tribune
import TribuneSystem

/// `top` at a terminal. It handles one key, signal, sample or tick at a time, and then draws.
actor TopSession {
  private enum Event: Sendable {
    case input, inputEnd
    case signal(Int32)
    case sample(Result<TopSample, TopSampler.Failure>)
    case tick
    case presence
  }

  static let ending = SignalWatch.interrupting + [Signals.quit]
  /// How long this process waits for the terminal when the session ends. A stopped terminal takes no output.
  private static let endTimeout = Duration.seconds(2)
  private static let busIsGone = "the bus is gone, trying again"

  private let screen: TopScreen
  private let sampler: TopSampler
  private let events: AsyncStream<Event>
  private let emit: AsyncStream<Event>.Continuation
  /// Passes all signals to `events`, and ends after the first signal of `ending`.
  private let interruption: Task<Void, Never>
  private var model: TopModel
  private var requested: ContinuousClock.Instant?
  /// True from SIGTSTP to SIGCONT. The shell then owns the terminal, so this session must not draw. This flag
  /// is needed because this thread can still run for a moment after `ThisProcess.stop()`.
  private var isStopped = false
  private var isStale = false

  static func begin(
    _ view: TopView, with library: NcursesLibrary, in context: Context
  ) async throws(CommandError) -> TopSession? {
    let (events, emit) = AsyncStream<Event>.makeStream()
    // `signals` must be used before ncurses sets its signal handlers. Until this use, the watch raises each
    // signal again, which would run these handlers.
    let signals = context.signals.signals
    let interruption = Task {
      for await signal in signals {
        emit.yield(.signal(signal.number))
        if ending.contains(signal.number) { return }
      }
    }
    let sampler = TopSampler(in: context, onPresence: { emit.yield(.presence) })
    let connected = await first(
      of: { () async -> Result<Void, TribuneError>? in
        do throws(TribuneError) {
          return .success(try await sampler.connect())
        } catch {
          return .failure(error)
        }
      },
      { () async -> Result<Void, TribuneError>? in
        await interruption.value
        return nil
      })
    guard let connected = connected ?? nil else { return nil }
    do throws(TribuneError) {
      try connected.get()
    } catch {
      throw CommandError(error)
    }
    let screen = try TopScreen(library, isColoured: context.terminal.isColoured)
    return TopSession(screen, sampler, events, emit, interruption, view)
  }

  private init(
    _ screen: consuming TopScreen, _ sampler: TopSampler, _ events: AsyncStream<Event>,
    _ emit: AsyncStream<Event>.Continuation, _ interruption: Task<Void, Never>, _ view: TopView
  ) {
    model = TopModel(view: view, size: screen.size)
    self.screen = screen
    (self.sampler, self.events, self.emit, self.interruption) = (sampler, events, emit, interruption)
  }

  /// Returns when the user or a signal ends the session. Must be called at most once.
  nonisolated func run(every delay: Duration) async {
    await first(
      of: { await self.follow(every: delay) },
      { [interruption] in
        await interruption.value
        await sleep(Self.endTimeout)
      })
  }

  private func follow(every delay: Duration) async {
    let timer = Task { [emit] in
      while !Task.isCancelled {
        await sleep(delay)
        emit.yield(.tick)
      }
    }
    waitForInput()
    request()
    draw()
    for await event in events {
      guard take(event) else { break }
      draw()
    }
    timer.cancel()
    screen.leave()
  }

  private func draw() {
    guard !isStopped else { return }
    screen.show(TopRenderer.lines(of: model))
  }

  private func take(_ event: Event) -> Bool {
    switch event {
    case .input:
      while let key = screen.nextKey() {
        guard perform(model.press(key)) else { return false }
      }
      waitForInput()
    case .inputEnd: return false
    case .signal(Signals.windowChange):
      screen.resize()
      model.size = screen.size
    case .signal(Signals.terminalStop):
      screen.leave()
      isStopped = true
      ThisProcess.stop()
    case .signal(Signals.resume):
      // After a SIGSTOP, the screen was not left, and other programs can have changed the terminal.
      if !isStopped { screen.leave() }
      isStopped = false
      screen.forget()
      screen.resize()
      model.size = screen.size
    case .signal: return false
    case .sample(let result): take(result)
    case .tick where requested == nil: if !model.isPaused { request() }
    case .tick: showDelay()
    case .presence:
      if sampler.isBusGone { model.problem = Self.busIsGone } else { request() }
    }
    return true
  }

  private func perform(_ effect: TopModel.Effect) -> Bool {
    switch effect {
    case .none: break
    case .quit: return false
    case .redraw: screen.forget()
    case .refresh: request()
    }
    return true
  }

  private func take(_ result: Result<TopSample, TopSampler.Failure>) {
    requested = nil
    switch result {
    case .success(let sample): model.take(sample)
    case .failure(.busIsGone): model.problem = Self.busIsGone
    case .failure(.refused(let reason)): model.problem = reason
    }
    guard isStale else { return }
    isStale = false
    request()
  }

  private func showDelay() {
    guard let requested else { return }
    let span = requested.duration(to: .now)
    model.problem =
      sampler.isBusGone ? Self.busIsGone : "the bus has not answered for \(span.abbreviated), waiting"
  }

  private func request() {
    guard requested == nil else {
      isStale = true
      return
    }
    requested = .now
    Task { [sampler, emit, view = model.view] in emit.yield(.sample(await sampler.sample(of: view))) }
  }

  /// Waits for input on another thread, which does not use ncurses.
  private func waitForInput() {
    Task { [emit] in
      do throws(Errno) {
        emit.yield(try await StandardInput.waitForInput() ? .input : .inputEnd)
      } catch {
        // This process cannot wait for keys. The session ends now, because no key could end it later.
        emit.yield(.inputEnd)
      }
    }
  }
}
