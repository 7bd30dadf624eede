// SPDX-License-Identifier: Apache-2.0

import TribuneSystem
import TribuneTestSupport
import TribuneWire

extension Life {
  func post(_ link: Link) {
    let (name, object) = (nameToPost(link), random.pick(Naming.objects))
    if random.oneIn(10) {
      // The bus handles a run of plain posts as one.
      for _ in 0..<Int.random(in: 2...12, using: &random) { post(link, name, object, isPlain: true) }
    } else {
      post(link, name, object, isPlain: random.oneIn(2))
    }
  }

  /// Some of them wait for an idle bus when the policy forbids them.
  func postBeforeReload() throws(Violation) {
    let candidates = links.compactMap { $0 }.filter { $0.isOpen && isStrictUser($0) }
    guard let link = candidates.randomElement(using: &random) else { return }
    for _ in 0..<8 { post(link, nameToPost(link), random.pick(Naming.objects), isPlain: false) }
    link.send()
    try iterate(faults: Faults())
  }

  private func post(_ link: Link, _ name: String, _ object: String, isPlain: Bool) {
    var options: PostOptions = []
    var style = PostingStyle.now
    if !isPlain {
      // The end of a slow bus's iteration is unknown.
      style = random.pick(isSlow ? [.now, .whenIdle] : [.now, .now, .asSoonAsPossible, .whenIdle])
      if random.oneIn(4) { options.insert(.retain) }
      if random.oneIn(6) { options.insert(.immediately) }
      if random.oneIn(5) { options.insert(random.pick([.coalesceByName, .coalesceByObject, .coalescing])) }
      if style == .now, options.isDisjoint(with: .coalescing), random.oneIn(5) { options.insert(.awaited) }
    }
    let isEmpty = options.contains(.retain) && random.oneIn(4)
    let post = Posting(
      number: number(), link: link, name: name, object: object, style: style, options: options,
      isEmpty: isEmpty)
    let serial = isEmpty ? post.serialOfItsOwn : link.serial()
    post.serial = serial
    posts[post.number] = post
    counts.posts += 1
    let acknowledges = random.oneIn(5)
    let flags: FrameFlags = acknowledges ? .acknowledge : .none
    let awaits = acknowledges || options.contains(.awaited)
    let deadline: UInt32 = options.contains(.awaited) ? randomDeadline() : 0
    post.deadline = deadline
    var length =
      random.oneIn(10) ? Int.random(in: 0...6000, using: &random) : Int.random(in: 0...80, using: &random)
    if setting.isLong, options.contains(.retain) { length = Int.random(in: 10_000...60_000, using: &random) }
    post.size = length + Posting.frameSize
    // A frame that lacks its file would take the next frame's.
    if !isPlain, !isEmpty, !link.isToBeClosed, random.oneIn(options.contains(.retain) ? 3 : 10) {
      post.size = WireLimits.descriptorPayloadLength
      post.length = post.size
      post.isFile = true
      link.compose(.post(post), serial: serial, awaitsReply: awaits, file: file(holding: post)) {
        $0.appendFrame(
          Post(options: options, style: style, deadline: deadline, length: UInt32(post.length)),
          flags: flags.union(.descriptor), serial: serial, name: name, object: object)
      }
      return
    }
    let text = isEmpty ? "" : "\(post.number);" + String(repeating: " ", count: length)
    post.length = text.utf8.count
    link.compose(.post(post), serial: serial, awaitsReply: awaits) { buffer in
      if isPlain {
        FrameHeader(
          kind: .post, flags: flags, serial: serial, nameLength: name.utf8.count,
          objectLength: object.utf8.count, payloadLength: text.utf8.count
        ).append(to: buffer)
        buffer.append(name + object + text)
      } else {
        buffer.appendFrame(
          Post(options: options, style: style, deadline: deadline), flags: flags, serial: serial, name: name,
          object: object, text: text)
      }
    }
  }

  /// Some outlast a rest.
  private func randomDeadline() -> UInt32 {
    random.oneIn(3) ? 30_000 : UInt32.random(in: 50...1500, using: &random)
  }

  private func file(holding post: Posting) -> MemoryFile {
    var bytes = Array("\(post.number);".utf8)
    bytes += [UInt8](repeating: 32, count: post.length - bytes.count)
    return file(holding: bytes)
  }

  func file(holding bytes: [UInt8]) -> MemoryFile {
    do throws(Errno) {
      return try MemoryFile(holding: bytes.raw)
    } catch {
      preconditionFailure("no file in memory: \(error)")
    }
  }
}
