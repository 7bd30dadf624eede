// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// What is retained, in the log. A file with userInfo is kept for as long as it is retained.
extension Recorder {
  func recordRetained(_ kept: RetainedNotification) {
    let buffer = emptyBuffer()
    var files = FilesHandedOver()
    buffer.append(true)
    files.append(kept.attachment, to: buffer)
    kept.append(to: buffer)
    let key = RetainedFiles.key(kept.name, kept.object)
    retainedFiles.value.forget(key)
    if let file = kept.attachment { retainedFiles.value[key] = keptFile(file) }
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

  /// A file can be retained under several names, and is kept once.
  ///
  /// - Returns: its inode; nil if it is not kept.
  private func keptFile(_ file: any AttachedFile) -> UInt64? {
    guard let keeper, let inode = FileDescriptor.lending(file.rawDescriptor, { $0.inode }) else { return nil }
    guard !retainedFiles.value.recall(inode) else { return inode }
    do throws(Errno) {
      keeper.keep(.file(inode), owning: try FileDescriptor.duplicate(of: file.rawDescriptor))
    } catch {
      return nil
    }
    return inode
  }

  /// Has nobody keep what is retained no more. The committed log says so by now.
  func removeForgottenFiles() {
    for inode in retainedFiles.value.takeForgotten().sorted() { keeper?.forget(.file(inode)) }
  }
}

/// The inodes of the files of what is retained, by a key for name and object, and those that are retained no more and
/// still kept.
struct RetainedFiles {
  private var files: [String: UInt64] = [:]
  private var forgotten: Set<UInt64> = []

  subscript(key: String) -> UInt64? {
    get { files[key] }
    set { files[key] = newValue }
  }

  /// What a retained file is found by.
  static func key(_ name: String, _ object: String) -> String { "\(name)\0\(object)" }

  var hasForgotten: Bool { !forgotten.isEmpty }
  /// All that are kept.
  var inodes: Set<UInt64> { forgotten.union(files.values) }

  /// What was retained under the key is so no more. Its file goes with `takeForgotten`, if nothing else needs it by then.
  mutating func forget(_ key: String) {
    guard !files.isEmpty, let file = files.removeValue(forKey: key), !files.values.contains(file) else {
      return
    }
    forgotten.insert(file)
  }

  /// - Returns: whether a file is kept already; if it was forgotten, it is retained again.
  mutating func recall(_ inode: UInt64) -> Bool {
    forgotten.remove(inode) != nil || files.values.contains(inode)
  }

  /// What is to be kept no more.
  mutating func takeForgotten() -> Set<UInt64> {
    defer { forgotten.removeAll() }
    return forgotten
  }
}

/// What the log says of a retained notification: whether there is one, its file, and its fields.
enum LoggedRetention {
  /// Bytes before the fields.
  static let headLength = 1 + RecordedFile.length
}
