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
    if let file = kept.attachment {
      let number = FileDescriptor.lending(file.rawDescriptor) { store?.store(file: $0) ?? nil }
      if let number { retainedFiles[Self.key(kept.name, kept.object)] = number }
    }
    record(retention: buffer)
  }

  func record(forgotten name: String, _ object: String) {
    let buffer = recordBuffer
    buffer.truncate(to: 0)
    buffer.append(false)
    buffer.appendField(name)
    buffer.appendField(object)
    forgetFile(name, object)
    record(retention: buffer)
  }

  private func forgetFile(_ name: String, _ object: String) {
    guard !retainedFiles.isEmpty, let number = retainedFiles.removeValue(forKey: Self.key(name, object))
    else {
      return
    }
    store?.remove(file: number)
  }
}

/// What the state says of a retained notification: whether there is one, its file, and its fields.
enum RecordedRetention {
  /// Bytes before the fields.
  static let headLength = 21
}
