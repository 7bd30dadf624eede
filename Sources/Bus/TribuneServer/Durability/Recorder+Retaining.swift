// SPDX-License-Identifier: Apache-2.0

import TribuneCore
import TribuneSystem
import TribuneWire

/// Logs retained notifications. The keeper keeps their files.
extension Recorder {
  func recordRetained(_ kept: RetainedNotification) {
    guard isLogging else { return }
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
    guard isLogging else { return }
    let buffer = emptyBuffer()
    buffer.append(false)
    buffer.appendField(name)
    buffer.appendField(object)
    retainedFiles.value.forget(RetainedFiles.key(name, object))
    record(.retained, buffer.bytes)
  }

  /// Gives the file to the keeper, once for all notifications that have it. Returns the file's inode.
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

  /// Must be called after the commit of the entries about the forgotten notifications.
  func removeForgottenFiles() {
    for inode in retainedFiles.value.takeForgotten().sorted() { keeper.forget(.file(inode)) }
  }
}

/// The retained notifications' files that the keeper has. An inode identifies a file.
struct RetainedFiles {
  /// In bytes. The entry of a retained notification begins with a flag (true) and the record of the file.
  static let headLength = 1 + FilesHandedOver.recordLength

  private var files: [ExactText: UInt64] = [:]
  private var forgotten: Set<UInt64> = []

  subscript(key: String) -> UInt64? {
    get { files[ExactText(key)] }
    set { files[ExactText(key)] = newValue }
  }

  static func key(_ name: String, _ object: String) -> String { "\(name)\0\(object)" }

  var hasForgotten: Bool { !forgotten.isEmpty }
  var inodes: Set<UInt64> { forgotten.union(files.values) }

  /// The next `takeForgotten` returns the key's file, unless another key has this file too.
  mutating func forget(_ key: String) {
    guard !files.isEmpty, let file = files.removeValue(forKey: ExactText(key)), !files.values.contains(file)
    else { return }
    forgotten.insert(file)
  }

  /// - Returns: true if the keeper still has the file, which is then no longer forgotten.
  mutating func recall(_ inode: UInt64) -> Bool {
    forgotten.remove(inode) != nil || files.values.contains(inode)
  }

  mutating func takeForgotten() -> Set<UInt64> {
    defer { forgotten.removeAll() }
    return forgotten
  }
}
