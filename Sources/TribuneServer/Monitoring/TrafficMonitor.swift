// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// What monitors see: each frame that passes, wrapped in one that says who sent it to whom.
///
/// A frame from a client is shown before it is taken, a post once it is known who receives it, and a frame to a
/// client when it is queued; so what follows from something is seen behind it. `traffic` itself is not shown, nor
/// that a monitor has lost some, so that nothing shown has more to be shown.
///
/// A monitor is an observer like any other: what it does not read in time is dropped, and told.
final class TrafficMonitor {
  private let bus: Cell<Bus>.Reference
  private let sessions: SessionTable
  private let sender: Sender
  /// The frame that is being taken from a client, while somebody monitors.
  private var taken: TakenFrame?

  /// `bus` must outlive the monitor: a reference keeps nothing alive.
  init(_ bus: Cell<Bus>.Reference, _ sessions: SessionTable, _ sender: Sender) {
    (self.bus, self.sessions, self.sender) = (bus, sessions, sender)
  }

  var isWatched: Bool { bus.value.isMonitored }

  /// The frame that was being taken is answered.
  func endFrame() { taken = nil }

  /// The frame that is being taken, for the `ok` or the `error` that answers it.
  private struct TakenFrame {
    let connection: ConnectionSlot
    /// What it passed under; nil for no name.
    let name: ByteSlice?
    /// What the bus answers to that is not for the monitor's own eyes.
    let isMonitor: Bool
  }

  /// Shows a run of posts.
  func showPosts(_ run: ByteSlice, receivers: Int, from poster: Session) {
    forEachFrame(of: run, limits: poster.limits) { header, frame in
      show([frame], under: frame.name(header), from: poster.id, to: .bus, receivers: receivers)
    }
  }

  private func forEachFrame(
    of run: ByteSlice, limits: FrameLimits, _ body: (FrameHeader, ByteSlice) -> Void
  ) {
    var position = run.range.lowerBound
    while position < run.range.upperBound {
      guard let header = FrameHeader.peek(run.buffer.bytes, at: position, limits: limits) else {
        preconditionFailure("a frame that was taken has no header")
      }
      body(header, ByteSlice(run.buffer, position..<position + header.frameLength))
      position += header.frameLength
    }
  }

  /// Shows a post that wanted more than to be handed on, when it is.
  func showPost(_ slice: ByteSlice, receivers: Int, from poster: ConnectionID) {
    show([slice], under: postName(slice), from: poster, to: .bus, receivers: receivers)
  }

  /// Shows a post that was refused and wanted more than to be handed on at once.
  func showRefusedPost(_ frame: FrameView, _ slice: ByteSlice, from poster: Session) {
    guard !frame.isPostThatWaits else { return }
    show([slice], under: slice.name(frame.header), from: poster.id, to: .bus, receivers: 0)
  }

  /// Shows what was buffered for a connection, and is delivered to it now.
  func showBuffered(_ slices: [ByteSlice], lost: UInt64, to observer: Session) {
    showLoss(lost, of: observer)
    for slice in slices {
      forEachFrame(of: slice, limits: .fromBus) { header, frame in
        show([frame], under: frame.name(header), from: header.sender, to: observer.id, receivers: 1)
      }
    }
  }

  func showRetained(
    _ slice: ByteSlice, _ tail: QueryTail, from poster: ConnectionID, to observer: Session
  ) {
    show([slice], under: tail.name, from: poster, to: observer.id, receivers: 1)
  }

  private func postName(_ slice: ByteSlice) -> ByteSlice {
    guard let header = FrameHeader.peek(slice.bytes, at: 0, limits: .fromBus) else {
      preconditionFailure("a frame that was taken has no header")
    }
    return slice.name(header)
  }

  /// What the answers to a run of posts go by.
  func expectAnswers(to run: ByteSlice, from poster: Session) {
    guard let header = FrameHeader.peek(run.buffer.bytes, at: run.range.lowerBound, limits: poster.limits)
    else { preconditionFailure("a frame that was taken has no header") }
    taken = TakenFrame(connection: poster.slot, name: run.name(header), isMonitor: false)
  }

  /// Shows a frame that a client sent to the bus itself. A post that does not wait is shown once it is known who
  /// receives it.
  func showFrame(_ frame: FrameView, _ slice: ByteSlice, from session: Session) {
    let name = name(of: frame, slice)
    let isMonitor = frame.header.kind == .monitor
    taken = TakenFrame(connection: session.slot, name: name, isMonitor: isMonitor)
    if frame.header.kind == .post, !frame.isPostThatWaits { return }
    show(
      [slice], under: name, from: session.id, to: .bus, receivers: 0,
      except: isMonitor ? session.slot : nil)
  }

  /// The name that a client's frame passes under; nil for none.
  private func name(of frame: FrameView, _ slice: ByteSlice) -> ByteSlice? {
    switch frame.header.kind {
    case .ask, .post: return slice.name(frame.header)
    case .answer, .defer:
      // Both begin with the query's id; what is wrong with them is told by whoever takes them.
      return frame.queryID.flatMap { bus.value.tail(of: $0)?.name }
    case .done:
      return frame.donePost.flatMap { bus.value.shownTail(ofPost: $0.serial, by: $0.poster)?.name }
    default: return nil
    }
  }

  /// Shows what the bus says to one client.
  ///
  /// - Parameter query: what the frame goes by; nil if it is no news of a query or an awaited post.
  func showControlFrame(
    _ slice: ByteSlice, _ kind: FrameKind, _ query: QueryTail?, to session: Session
  ) {
    guard session.output.accepts else { return }
    var name = query?.name
    var isToMonitor = false
    if kind == .ok || kind == .error, let taken, taken.connection == session.slot {
      name = taken.name
      isToMonitor = taken.isMonitor
    }
    show(
      [slice], under: name, from: .bus, to: session.id, receivers: 1,
      except: isToMonitor ? session.slot : nil)
  }

  /// - Parameter rest: what follows `slice` in the same frame.
  func showQuestion(
    _ slice: ByteSlice, _ rest: ByteSlice?, _ tail: QueryTail, from asker: ConnectionID,
    to delegate: ConnectionID
  ) {
    show([slice] + (rest.map { [$0] } ?? []), under: tail.name, from: asker, to: delegate, receivers: 1)
  }

  func showVerdict(_ verdict: ByteSlice, _ tail: QueryTail, to asker: ConnectionID) {
    show([verdict], under: tail.name, from: .bus, to: asker, receivers: 1)
  }

  /// Shows what the bus itself posts.
  ///
  /// - Parameter isTold: whether others are told of a monitor that does not keep up with it.
  func showAnnouncement(_ slice: ByteSlice, name: String, receivers: Int, isTold: Bool) {
    show([slice], under: name.utf8Bytes, from: .bus, to: .bus, receivers: receivers, isTold: isTold)
  }

  /// Shows that notifications were dropped for an observer, as they are: the `lost` that it reads counts what was
  /// dropped until then.
  func showLoss(_ count: UInt64, of observer: Session) {
    guard count > 0, !bus.value.isMonitor(observer.slot) else { return }
    let buffer = sender.bufferToEncode()
    let start = buffer.count
    buffer.appendFrame(Lost(count: count), serial: 0)
    show(
      [ByteSlice(buffer, start..<buffer.count)], under: nil, from: .bus, to: observer.id, receivers: 1)
  }

  private func show(
    _ parts: [ByteSlice], under name: ByteSlice?, from: ConnectionID, to: ConnectionID, receivers: Int,
    except excluded: ConnectionSlot? = nil
  ) {
    guard let name else {
      show(parts, under: "".utf8Bytes, from: from, to: to, receivers: receivers, except: excluded)
      return
    }
    show(parts, under: name.bytes, from: from, to: to, receivers: receivers, except: excluded)
  }

  /// - Parameters:
  ///   - parts: the frame, in one piece or in two.
  ///   - name: empty for none.
  ///   - excluded: who is not shown it.
  ///   - isTold: whether others are told of a monitor that does not keep up with it.
  private func show(
    _ parts: [ByteSlice], under name: RawSpan, from: ConnectionID, to: ConnectionID, receivers: Int,
    except excluded: ConnectionSlot? = nil, isTold: Bool = true
  ) {
    let monitors = bus.value.monitors(of: name)
    guard monitors.contains(where: { $0 != excluded }) else { return }
    let traffic = Traffic(
      time: SystemClock.wallMicroseconds, from: from, to: to, receivers: UInt32(clamping: receivers))
    let length = parts.reduce(0) { $0 + $1.count }
    let buffer = sender.bufferToEncode(for: 2 * FrameHeader.length + length)
    let start = buffer.count
    buffer.appendHead(of: traffic, serial: 0, payloadLength: length)
    for part in parts { buffer.append(part.bytes) }
    let slice = ByteSlice(buffer, start..<buffer.count)
    for slot in monitors where slot != excluded {
      sender.deliverWithoutPacing(slice, to: slot, isTold: isTold)
    }
  }
}

extension ByteSlice {
  /// The name of the frame that the slice begins with.
  fileprivate func name(_ header: FrameHeader) -> ByteSlice {
    let start = range.lowerBound
    return ByteSlice(buffer, start + header.nameStart..<start + header.objectStart)
  }
}

extension FrameView {
  /// Whether it is a post that is delivered later, or whose fields end too early to tell.
  fileprivate var isPostThatWaits: Bool {
    guard header.kind == .post else { return false }
    return rawPostingStyle != PostingStyle.now.rawValue
  }
}

extension QueryTail {
  fileprivate var name: ByteSlice {
    let start = slice.range.lowerBound
    return ByteSlice(slice.buffer, start..<start + nameLength)
  }
}
