// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// Logs retained notifications. The keeper keeps a file with userInfo for as long as it is retained.
extension Recorder {
  func recordRetained(_ kept: RetainedNotification) {
    guard survivesDeath else { return }
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
    guard survivesDeath else { return }
    let buffer = emptyBuffer()
    buffer.append(false)
    buffer.appendField(name)
    buffer.appendField(object)
    retainedFiles.value.forget(RetainedFiles.key(name, object))
    record(.retained, buffer.bytes)
  }

  /// Has the keeper keep a file: once, even if it is retained under several names.
  ///
  /// - Returns: its inode; nil if it is not kept.
  private func keptFile(_ file: any AttachedFile) -> UInt64? {
    guard let inode = FileDescriptor.lending(file.rawDescriptor, { $0.inode }) else { return nil }
    guard !retainedFiles.value.recall(inode) else { return inode }
    do throws(Errno) {
      keeper.keep(.file(inode), owning: try FileDescriptor.duplicate(of: file.rawDescriptor))
    } catch {
      return nil
    }
    return inode
  }

  /// Has the keeper drop the files that are no longer retained. The committed log says so by now.
  func removeForgottenFiles() {
    for inode in retainedFiles.value.takeForgotten().sorted() { keeper.forget(.file(inode)) }
  }
}

/// The inodes of retained files, by a key for name and object, and of files that are still kept but no longer retained.
struct RetainedFiles {
  /// Bytes before the fields in a retained entry: whether a notification is retained, and its file.
  static let headLength = 1 + FilesHandedOver.recordLength

  private var files: [ExactText: UInt64] = [:]
  private var forgotten: Set<UInt64> = []

  subscript(key: String) -> UInt64? {
    get { files[ExactText(key)] }
    set { files[ExactText(key)] = newValue }
  }

  /// The key of a retained file.
  static func key(_ name: String, _ object: String) -> String { "\(name)\0\(object)" }

  var hasForgotten: Bool { !forgotten.isEmpty }
  /// All kept files.
  var inodes: Set<UInt64> { forgotten.union(files.values) }

  /// Ends the retention under a key. `takeForgotten` gives its file, unless another key has it by then.
  mutating func forget(_ key: String) {
    guard !files.isEmpty, let file = files.removeValue(forKey: ExactText(key)), !files.values.contains(file)
    else { return }
    forgotten.insert(file)
  }

  /// - Returns: whether a file is kept already; if it was forgotten, it is retained again.
  mutating func recall(_ inode: UInt64) -> Bool {
    forgotten.remove(inode) != nil || files.values.contains(inode)
  }

  /// The files that need not be kept any more.
  mutating func takeForgotten() -> Set<UInt64> {
    defer { forgotten.removeAll() }
    return forgotten
  }
}
