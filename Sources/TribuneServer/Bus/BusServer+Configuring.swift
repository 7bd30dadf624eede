// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneLog
import TribuneSystem
import TribuneWire

/// Which configuration the bus goes by. What of it decides something is in the log as well, so that what is replayed is
/// decided as it was.
extension BusServer {
  /// Takes over another configuration. Frames as long as a client was promised are still taken from it.
  func reconfigure(_ configuration: Configuration) {
    let modeHasChanged = self.configuration.socketMode != configuration.socketMode
    self.configuration = configuration
    limits = configuration.frameLimits
    log.level = configuration.logLevel
    wal.admissionLimit = configuration.stateMaxBytes
    compactor.noteSpace()
    configureBus()
    recordConfiguration()
    guard modeHasChanged else { return }
    for listener in acceptor.listeners { setMode(of: listener) }
  }

  /// Gives a socket's file the mode that the configuration says, if it is the bus's own.
  func setMode(of listener: Listener) {
    do throws(Errno) {
      try listener.setMode(configuration.socketMode)
    } catch {
      log.error("cannot change the mode of \(listener.path): \(error)")
    }
  }

  /// Puts the configuration in force in the core.
  func configureBus() {
    bus.limits = configuration.busLimits
    bus.policy = configuration.policy
    let report = bus.configure(protocols: configuration.protocolSources, objects: configuration.objects)
    for replacement in report.replacements { log.warning("\(replacement)") }
    for rule in report.kept {
      log.notice(
        "objects like \"\(rule.pattern.text.escaped)\" have delegates, and keep the protocol \"\(rule.protocolName)\" that they had"
      )
    }
  }

  // MARK: In the log

  /// Logs what the configuration in force decides, before anything that it decides.
  private func recordConfiguration() {
    let buffer = bufferToRecord()
    compactor.appendConfiguration(to: buffer)
    record(.configuration, of: .bus, at: now, buffer.bytes)
  }

  /// Goes by what a logged configuration decides, until the log ends or has another one.
  func replayConfiguration(_ fields: RawSpan) throws(WireError) {
    if fields.byteCount > 0 { return try bus.restoreConfiguration(fields) }
    // It was too long to be logged: today's stands in for it.
    configureBus()
    bus.limits = bus.limits.lifted
  }
}
