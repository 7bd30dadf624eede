// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneWire

/// What one iteration of the loop collects, for its own end or for the next one.
struct Iteration {
  /// Connections for which something was queued.
  var toFlush: [Connection] = []
  /// Connections that were read, and may have posted what is delivered at the end of the iteration.
  var receiving: [Connection] = []
  /// Connections whose queues can wait a little for more.
  var deferred: [Connection] = []
  var isAlarmSet = false
  /// Connections that are closed at the end of the iteration.
  var toClose: [Connection] = []
  /// Connections whose frames were left for the next iteration, in order.
  var unfinished: [Connection] = []
  /// Storage for the effects of the core.
  var effects: [Effect] = []
  /// Transactions under way, one within the other (see `BusServer.beginTransaction`).
  var transactionDepth = 0
  /// Connections that are over the soft limit and are flushed when the transaction ends.
  var overSoftLimit: [Connection] = []
  /// Questions for which the queues of their delegates had no space.
  var unsentQuestions: [Question] = []
  /// For the journal, when the frames have been sent.
  var verdicts: [VerdictEntry] = []
  /// The last post with a file, and the copy for observers that take no files.
  var inlined: (original: ByteBuffer, copy: ByteSlice)?
  /// Posts whose userInfo came as a file.
  var fileFrames = FileFrames()
  /// The frame that is being taken from a client, while somebody monitors.
  var taken: BusServer.TakenFrame?
}
