// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// What is retained, in the state. A file in which userInfo came is stored for as long as it is retained.
extension BusServer {
  /// What a file is found again by that is retained.
  static func key(_ name: String, _ object: String) -> String { "\(name)\0\(object)" }

  func record(kept: RetainedNotification) {
    let buffer = recordBuffer
    buffer.truncate(to: 0)
    var files = FilesHandedOver()
    buffer.append(true)
    append(kept.attachment, to: buffer, &files)
    kept.append(to: buffer)
    forgetFile(kept.name, kept.object)
    if let file = kept.attachment { retainedFiles[Self.key(kept.name, kept.object)] = stored(file) }
    record(retention: buffer, of: .kept(kept))
  }

  func record(forgotten name: String, _ object: String) {
    let buffer = recordBuffer
    buffer.truncate(to: 0)
    buffer.append(false)
    buffer.appendField(name)
    buffer.appendField(object)
    forgetFile(name, object)
    record(retention: buffer, of: .forgotten(name: name, object: object))
  }

  /// A file can be retained under several names, and is stored once.
  private func stored(_ file: any AttachedFile) -> StoredFile? {
    guard let store else { return nil }
    return FileDescriptor.lending(file.rawDescriptor) { descriptor -> StoredFile? in
      let inode = descriptor.inode ?? 0
      if let known = retainedFiles.values.first(where: { $0.inode == inode }) { return known }
      return store.store(file: descriptor).map { StoredFile(inode: inode, number: $0) }
    }
  }

  private func forgetFile(_ name: String, _ object: String) {
    guard !retainedFiles.isEmpty, let file = retainedFiles.removeValue(forKey: Self.key(name, object)),
      !retainedFiles.values.contains(where: { $0.number == file.number })
    else { return }
    store?.remove(file: file.number)
  }
}

/// A file that the service manager keeps.
struct StoredFile {
  let inode: UInt64
  let number: UInt64
}

/// What the state says of a retained notification: whether there is one, its file, and its fields.
enum RecordedRetention {
  /// Bytes before the fields.
  static let headLength = 1 + RecordedFile.length
}
