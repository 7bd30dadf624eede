// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TribuneSystem

@MainActor package final class SignalSources {
  private var sources: [any DispatchSourceSignal] = []

  package init() {}

  package func on(_ number: CInt, _ action: @escaping @MainActor () -> Void) {
    SignalMask([number]).block()
    let source = DispatchSource.makeSignalSource(signal: number, queue: .main)
    source.setEventHandler { MainActor.assumeIsolated(action) }
    source.activate()
    sources.append(source)
  }
}
