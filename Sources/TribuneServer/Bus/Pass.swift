// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// What one pass over the sockets collects, for its own end or for the next.
struct Pass {
  /// Those that something was queued for.
  var dirty: [Connection] = []
  /// Those that have been read from, and may have posted what is delivered at the end.
  var receiving: [Connection] = []
  /// Those that something was queued for which can wait for more.
  var lingering: [Connection] = []
  var isAlarmSet = false
  /// Those that are to be dismissed at the end.
  var doomed: [Connection] = []
  /// Those whose frames were left for the next pass, in order.
  var unfinished: [Connection] = []
  /// Room for what the core wants sent.
  var effects: [Effect] = []
  /// Events that are being carried out, one within the other (see `BusServer.beginEvent`).
  var eventDepth = 0
  /// Those for which more was queued in an event than is to wait for the end of the pass.
  var crowded: [Connection] = []
  /// Those that had no room in the queues of their delegates.
  var unsentQuestions: [Question] = []
  /// To be written down when the frames have been sent.
  var verdicts: [VerdictEntry] = []
  /// What was last posted with a file, and what those get who take none.
  var inlined: (original: ByteBuffer, copy: ByteSlice)?
  /// Posts whose userInfo came as a file.
  var fileFrames = FileFrames()
  /// What is being taken from a client, while somebody watches.
  var taken: BusServer.TakenFrame?
}
