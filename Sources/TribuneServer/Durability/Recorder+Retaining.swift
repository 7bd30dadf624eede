// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// What is retained, in the log. A file with userInfo is stored for as long as it is retained.
extension Recorder {
  func recordRetained(_ kept: RetainedNotification) {
    let buffer = emptyBuffer()
    var files = FilesHandedOver()
    buffer.append(true)
    files.append(kept.attachment, to: buffer)
    kept.append(to: buffer)
    let key = RetainedFiles.key(kept.name, kept.object)
    retainedFiles.value.forget(key)
    if let file = kept.attachment { retainedFiles.value[key] = stored(file) }
    record(.retained, buffer.bytes)
  }

  func recordForgotten(_ name: String, _ object: String) {
    let buffer = emptyBuffer()
    buffer.append(false)
    buffer.appendField(name)
    buffer.appendField(object)
    retainedFiles.value.forget(RetainedFiles.key(name, object))
    record(.retained, buffer.bytes)
  }

  /// A file can be retained under several names, and is stored once.
  private func stored(_ file: any AttachedFile) -> StoredFile? {
    guard let store else { return nil }
    return FileDescriptor.lending(file.rawDescriptor) { descriptor -> StoredFile? in
      let inode = descriptor.inode ?? 0
      if let known = retainedFiles.value.recall(inode: inode) { return known }
      return store.store(file: descriptor).map { StoredFile(inode: inode, number: $0) }
    }
  }

  /// Removes from the store what is retained no more. The committed log says so by now.
  func removeForgottenFiles() {
    for file in retainedFiles.value.takeForgotten() { store?.remove(file: file.number) }
  }
}

/// A file that the service manager keeps.
struct StoredFile: Equatable {
  let inode: UInt64
  let number: UInt64
}

/// The files of what is retained, by a key for name and object, and those that are retained no more and still stored.
struct RetainedFiles {
  private var files: [String: StoredFile] = [:]
  private var forgotten: [StoredFile] = []

  subscript(key: String) -> StoredFile? {
    get { files[key] }
    set { files[key] = newValue }
  }

  /// What a retained file is found by.
  static func key(_ name: String, _ object: String) -> String { "\(name)\0\(object)" }

  var retained: some Collection<StoredFile> { files.values }
  var hasForgotten: Bool { !forgotten.isEmpty }
  /// The numbers of all.
  var numbers: Set<UInt64> { Set((files.values + forgotten).map(\.number)) }

  /// What was retained under the key is so no more. Its file goes with `takeForgotten`, if nothing else needs it by then.
  mutating func forget(_ key: String) {
    guard !files.isEmpty, let file = files.removeValue(forKey: key),
      !files.values.contains(where: { $0.number == file.number })
    else { return }
    forgotten.append(file)
  }

  /// A file that is stored already, and is retained again if it was forgotten.
  mutating func recall(inode: UInt64) -> StoredFile? {
    if let known = files.values.first(where: { $0.inode == inode }) { return known }
    guard let index = forgotten.firstIndex(where: { $0.inode == inode }) else { return nil }
    return forgotten.remove(at: index)
  }

  /// What is to be stored no more.
  mutating func takeForgotten() -> [StoredFile] {
    defer { forgotten.removeAll() }
    return forgotten
  }
}

/// What the state says of a retained notification: whether there is one, its file, and its fields.
enum LoggedRetention {
  /// Bytes before the fields.
  static let headLength = 1 + RecordedFile.length
}
