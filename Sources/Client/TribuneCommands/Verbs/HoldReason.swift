// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tribune
import TribuneSystem
import TribuneWire

/// The reason of the holds. If there is a source (--why-from), each of its lines becomes the new reason.
final class HoldReason: Sendable {
  enum Source: Sendable {
    case standardInput
    case file(PipeInput)
  }

  private struct State {
    var text: String
    var holds: [Tribune.Hold] = []
  }

  private let state: Mutex<State>
  let source: Source?

  init(_ text: String, from source: Source?) {
    state = Mutex(State(text: text))
    self.source = source
  }

  var text: String { state.withLock { $0.text } }

  func apply(to holds: [Tribune.Hold], takenFor text: String) async throws(TribuneError) {
    let now = state.withLock { state in
      state.holds = holds
      return state.text
    }
    if now != text { try await update(holds, to: now) }
  }

  private func update(_ holds: [Tribune.Hold], to text: String) async throws(TribuneError) {
    for hold in holds { try await hold.update(why: text) }
  }

  /// Makes each line of input the new reason. Ignores empty lines.
  func follow(in context: Context) async {
    guard let source else { return }
    var buffer = LineBuffer(limit: WireLimits.reasonLength)
    var bytes: [UInt8]
    repeat {
      do throws(Errno) {
        switch source {
        case .standardInput: bytes = try await StandardInput.read()
        case .file(let pipe): bytes = try await pipe.read()
        }
      } catch {
        return context.terminal.report("--why-from: \(error)")
      }
      let lines = bytes.isEmpty ? [buffer.finish() ?? []] : buffer.append(bytes)
      // If several lines arrive at once, the last one is the current reason.
      let text = lines.lazy.map { String(decoding: $0, as: UTF8.self) }.last {
        !$0.allSatisfy(\.isWhitespace)
      }
      if let text { await change(to: text, in: context) }
    } while !bytes.isEmpty
    if case .file = source { context.terminal.report("--why-from: the file has ended; the reason stays") }
  }

  private func change(to text: String, in context: Context) async {
    let holds = state.withLock { state in
      state.text = text
      return state.holds
    }
    do throws(TribuneError) {
      try await update(holds, to: text)
    } catch {
      // Lost holds get the new reason when they are taken again.
      if !error.meansNoBus, error.code != .notFound {
        context.terminal.report("the reason stays as it was: \(error.message.terminalSafe)")
      }
    }
  }
}
