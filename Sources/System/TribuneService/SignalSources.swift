// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TribuneSystem

/// The signals that a service handles on the main queue.
@MainActor package final class SignalSources {
  private var sources: [any DispatchSourceSignal] = []

  package init() {}

  /// Runs `action` on the main queue for each signal of this number, which has no other effect from now on.
  package func on(_ number: CInt, _ action: @escaping @MainActor () -> Void) {
    SignalMask([number]).block()
    let source = DispatchSource.makeSignalSource(signal: number, queue: .main)
    source.setEventHandler { MainActor.assumeIsolated(action) }
    source.activate()
    sources.append(source)
  }
}
