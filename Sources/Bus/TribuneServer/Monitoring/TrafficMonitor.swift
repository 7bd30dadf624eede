// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// Shows passing frames to monitors, wrapped in `traffic` frames with sender and receiver.
///
/// Monitors see a cause before its effects: a client's frame before the bus handles it, a post once its
/// receivers are known, and a frame to a client when the bus queues it. Monitors see neither `traffic` frames
/// nor the losses of monitors, because each would cause a further `traffic` frame or loss, without end.
final class TrafficMonitor {
  private let bus: Cell<Bus>.Reference
  private let sender: Sender
  private var taken: TakenFrame?

  init(_ sender: Sender, _ context: ServerContext) { (bus, self.sender) = (context.bus, sender) }

  var isWatched: Bool { bus.value.isMonitored }

  func endFrame() { taken = nil }

  private struct TakenFrame {
    let connection: ConnectionSlot
    let name: ByteSlice?
    /// True for a `monitor` frame. The client that sent the frame sees neither this frame nor the bus's
    /// answer as `traffic`.
    let isMonitor: Bool
  }

  func showPosts(_ run: ByteSlice, receivers: Int, from poster: Session) {
    run.forEachFrame(limits: poster.limits) { header, frame in
      show([frame], under: frame.name(header), from: poster.id, to: .bus, receivers: receivers)
    }
  }

  func showPost(_ slice: ByteSlice, receivers: Int, from poster: ConnectionID) {
    let name = slice.name(slice.firstHeader(.fromBus))
    show([slice], under: name, from: poster, to: .bus, receivers: receivers)
  }

  /// Skips a post that waits for its delivery, because `showFrame` has already shown that post.
  func showRefusedPost(_ frame: FrameView, _ slice: ByteSlice, from poster: Session) {
    guard !frame.isPostThatWaits else { return }
    show([slice], under: slice.name(frame.header), from: poster.id, to: .bus, receivers: 0)
  }

  func showBuffered(_ slices: [ByteSlice], lost: UInt64, to observer: Session) {
    showLoss(lost, of: observer)
    for slice in slices {
      slice.forEachFrame(limits: .fromBus) { header, frame in
        show([frame], under: frame.name(header), from: header.sender, to: observer.id, receivers: 1)
      }
    }
  }

  func showRetained(_ slice: ByteSlice, _ tail: QueryTail, from poster: ConnectionID, to observer: Session) {
    show([slice], under: tail.name, from: poster, to: observer.id, receivers: 1)
  }

  func expectAnswers(to run: ByteSlice, from poster: Session) {
    let name = run.name(run.firstHeader(poster.limits))
    taken = TakenFrame(connection: poster.slot, name: name, isMonitor: false)
  }

  /// Skips a post for immediate delivery, which `showPost` shows once the receivers are known.
  func showFrame(_ frame: FrameView, _ slice: ByteSlice, from session: Session) {
    let name = name(of: frame, slice)
    let isMonitor = frame.header.kind == .monitor
    taken = TakenFrame(connection: session.slot, name: name, isMonitor: isMonitor)
    if frame.header.kind == .post, !frame.isPostThatWaits { return }
    show(
      [slice], under: name, from: session.id, to: .bus, receivers: 0,
      except: isMonitor ? session.slot : nil)
  }

  private func name(of frame: FrameView, _ slice: ByteSlice) -> ByteSlice? {
    switch frame.header.kind?.shownName {
    case .named: return slice.name(frame.header)
    case .namedByQuery:
      return frame.queryID.flatMap { bus.value.tail(of: $0)?.name }
    case .namedByPost:
      return frame.donePost.flatMap { bus.value.shownTail(ofPost: $0.serial, by: $0.poster)?.name }
    case .unnamed, nil: return nil
    }
  }

  func showControlFrame(_ slice: ByteSlice, _ kind: FrameKind, _ query: QueryTail?, to session: Session) {
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

  func showQuestion(
    _ slice: ByteSlice, _ rest: ByteSlice?, _ tail: QueryTail, from asker: ConnectionID,
    to delegate: ConnectionID
  ) {
    show([slice] + (rest.map { [$0] } ?? []), under: tail.name, from: asker, to: delegate, receivers: 1)
  }

  func showVerdict(_ verdict: ByteSlice, _ tail: QueryTail, to asker: ConnectionID) {
    show([verdict], under: tail.name, from: .bus, to: asker, receivers: 1)
  }

  func showAnnouncement(_ slice: ByteSlice, name: String, receivers: Int, isAnnounced: Bool) {
    show([slice], under: name.utf8Bytes, from: .bus, to: .bus, receivers: receivers, isAnnounced: isAnnounced)
  }

  /// Shows each loss at once. The observer's own `lost` frame can combine several losses.
  func showLoss(_ count: UInt64, of observer: Session) {
    guard count > 0, !bus.value.isMonitor(observer.slot) else { return }
    let buffer = sender.bufferToEncode()
    let start = buffer.count
    buffer.appendFrame(Lost(count: count), serial: 0)
    show([ByteSlice(buffer, start..<buffer.count)], under: nil, from: .bus, to: observer.id, receivers: 1)
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

  /// `parts` is the frame in one or two pieces. `name` is empty if the frame has no name.
  private func show(
    _ parts: [ByteSlice], under name: RawSpan, from: ConnectionID, to: ConnectionID, receivers: Int,
    except excluded: ConnectionSlot? = nil, isAnnounced: Bool = true
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
      sender.deliverWithoutPacing(slice, to: slot, isAnnounced: isAnnounced)
    }
  }
}

extension ByteSlice {
  fileprivate func name(_ header: FrameHeader) -> ByteSlice {
    let start = range.lowerBound
    return ByteSlice(buffer, start + header.nameStart..<start + header.objectStart)
  }
}

extension FrameView {
  /// True for a post in another style than *now*, and for a post whose fields are too short for a style.
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
