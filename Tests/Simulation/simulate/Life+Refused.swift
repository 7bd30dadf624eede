// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneTestSupport
import TribuneWire

extension Life {
  private static let foreignKinds: [UInt8] =
    [0, 29, 34, 100, 255]
    + [
      FrameKind.welcome, .error, .ok, .lost, .question, .progress, .verdict, .concluded, .entry, .traffic,
      .ended, .retained, .awaited, .late,
    ].map(\.rawValue)

  // MARK: Refused

  func strayFrame(_ link: Link) {
    switch Int.random(in: 0..<10, using: &random) {
    case 8..<10: forbiddenMessage(link)
    case 0: refuse(link, .notFound) { $0.appendFrame(Cancel(target: 1 << 40), serial: $1) }
    case 1..<4: refuse(link, .unknownKind) { foreignFrame([], serial: $1, to: $0) }
    case 4..<6: unknownValue(link)
    case 6: askOtherKind(link)
    default: unfitPost(link)
    }
  }

  func refuse(
    _ link: Link, _ code: ErrorCode, file: MemoryFile? = nil, _ write: (ByteBuffer, Serial) -> Void
  ) {
    let serial = link.serial()
    link.compose(.stray(code), serial: serial, awaitsReply: true, file: file) { write($0, serial) }
  }

  private func foreignFrame(_ flags: FrameFlags, serial: Serial, to buffer: ByteBuffer) {
    let name = random.pick(Naming.names)
    let fields = [UInt8](repeating: 1, count: Int.random(in: 0...40, using: &random))
    var header = FrameHeader(
      kind: .welcome, flags: random.oneIn(2) ? flags.union(.acknowledge) : flags, serial: serial,
      fieldsLength: fields.count, nameLength: name.utf8.count, payloadLength: fields.count)
    header.rawKind = random.pick(Self.foreignKinds)
    header.append(to: buffer)
    buffer.append(fields.raw)
    buffer.append(name)
    buffer.append(fields.raw)
  }

  private func unknownValue(_ link: Link) {
    let which = Int.random(in: 0..<9, using: &random)
    let name = random.pick(Naming.queryNames)
    refuse(link, .invalidValue) { buffer, serial in
      func set(_ value: UInt8, at offset: Int) { buffer.store(value, at: FrameHeader.length + offset) }
      switch which {
      case 0, 1:
        buffer.appendFrame(Post(style: .whenIdle), flags: .acknowledge, serial: serial, name: name)
        if which == 0 { set(1 << 6, at: 0) } else { set(3, at: 1) }
      case 2, 3:
        buffer.appendFrame(Observe(options: .awaited, suspension: .hold), serial: serial, name: name)
        if which == 2 { set(1 << 2, at: 0) } else { set(4, at: 1) }
      case 4:
        buffer.appendFrame(
          Attach(
            order: 0, failurePolicy: .veto, timeout: 0, label: "", patterns: [name], isSet: false,
            protocols: []), serial: serial)
        set(2, at: 4)
      case 5, 6, 7:
        buffer.appendFrame(Ask(), serial: serial, name: name)
        set([5, 2, 1 << 4][which - 5], at: [4, 5, 14][which - 5])
      default:
        buffer.appendFrame(List(.bus), serial: serial)
        set(UInt8(ListSubject.allCases.count), at: 0)
      }
    }
  }

  private func askOtherKind(_ link: Link) {
    let mode = random.pick(QueryMode.allCases)
    let name = random.pick(mode.isForValues ? Naming.queryNames : Naming.valueNames)
    refuse(link, .invalidName) { $0.appendFrame(Ask(mode: mode), serial: $1, name: name) }
  }

  private func unfitPost(_ link: Link) {
    let name = nameToPost(link)
    let style = random.pick(PostingStyle.allCases)
    var options: PostOptions = random.oneIn(2) && !isStrictUser(link) ? .retain : []
    let isAwaited = random.oneIn(3)
    if isAwaited {
      options.formUnion(
        style == .now ? [.awaited, random.pick([.coalesceByName, .coalesceByObject])] : .awaited)
    }
    let (length, announced, payload, code): (Int, Int, String, ErrorCode) =
      if isAwaited {
        random.pick([(0, 0, "awaited", .invalidValue), (1 << 16, 1 << 16, "", .invalidValue)])
      } else {
        random.pick([
          (1 << 16, 1 << 16 + 1, "", .invalidDescriptor), (1 << 16 - 1, 1 << 16 - 1, "", .invalidDescriptor),
          (1 << 16, 1 << 16, "payload", .invalidValue), (0, 1 << 16, "", .invalidValue),
        ])
      }
    guard length == 0 || !link.isToBeClosed else { return }
    let file = length == 0 ? nil : file(holding: [UInt8](repeating: 32, count: length))
    refuse(link, code, file: file) {
      $0.appendFrame(
        Post(options: options, style: style, deadline: 0, length: UInt32(announced)),
        flags: file == nil ? .acknowledge : [.acknowledge, .descriptor], serial: $1, name: name, text: payload
      )
    }
  }

  // MARK: Closing

  func garbage(_ link: Link) {
    guard !link.isToBeClosed else { return }
    switch Int.random(in: 0..<6, using: &random) {
    case 0:
      link.compose(.garbage([.frameTooLong, .malformedFrame])) {
        $0.append(String(repeating: "\u{1}", count: 64))
      }
    case 1, 2: close(link, .unknownCriticalKind) { foreignFrame(.critical, serial: $1, to: $0) }
    case 3:
      close(link, .malformedFrame) {
        FrameHeader(kind: .suspend, serial: $1).append(to: $0)
      }
    case 4:
      let file = random.oneIn(2) ? file(holding: [32]) : nil
      close(link, .unexpectedDescriptors, file: file) {
        $0.appendFrame(Suspend(isSuspended: true), flags: .descriptor, serial: $1)
      }
    default:
      // If a file of an earlier frame was lost, the bus refuses this one.
      guard !link.hasSentFile else { return }
      close(link, .missingDescriptor) {
        $0.appendFrame(Post(length: 1 << 16), flags: .descriptor, serial: $1, name: random.pick(Naming.names))
      }
    }
  }

  private func close(
    _ link: Link, _ code: ErrorCode, file: MemoryFile? = nil, _ write: (ByteBuffer, Serial) -> Void
  ) {
    let serial = link.serial()
    link.compose(.garbage([code]), serial: serial, file: file) { write($0, serial) }
  }

  func greet(_ link: Link, isHonest: Bool) {
    var known: Hello.Capabilities = link.acceptsFiles ? .descriptors : []
    if link.wantsPosters { known.insert(.posters) }
    guard !isHonest else { return link.compose(.hello) { Hello(capabilities: known).append(to: $0) } }
    switch Int.random(in: 0..<60, using: &random) {
    case 0: link.compose(.garbage([.badMagic])) { $0.append("GET / HTTP/1.1\r\n") }
    case 1:
      let (version, minimum) = random.pick([(UInt16(2), UInt16(2)), (.max, 2), (0, 0)])
      link.compose(.garbage([.unsupportedVersion])) {
        Hello(version: version, minimumVersion: minimum, capabilities: known).append(to: $0)
      }
    default:
      let unknown = Hello.Capabilities(rawValue: random.oneIn(4) ? .max << 2 : 0)
      let hello = Hello(
        version: random.oneIn(4) ? .max : 1, minimumVersion: random.oneIn(4) ? 0 : 1,
        capabilities: known.union(unknown))
      link.compose(.hello) { hello.append(to: $0) }
    }
  }
}

extension Link {
  var closingErrors: [ErrorCode] {
    for operation in operations { if case .garbage(let codes) = operation.what { return codes } }
    return []
  }
  var isToBeClosed: Bool { !closingErrors.isEmpty }
}
