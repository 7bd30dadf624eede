// SPDX-License-Identifier: Apache-2.0

import Dispatch
import TribuneSystem

/// Watches the listeners' files and folders. If a file is gone, another daemon can serve a second bus at its
/// path. Queries on that bus would not meet this bus's holds.
final class SocketFileWatch {
  private let watch: FileWatch
  private let source: any DispatchSourceRead

  init(_ changed: @escaping @MainActor () -> Void) throws(Errno) {
    watch = try FileWatch()
    source = DispatchSource.makeReadSource(fileDescriptor: watch.descriptor.rawValue, queue: .main)
    source.setEventHandler { [weak self] in
      MainActor.assumeIsolated {
        self?.watch.takeChanges()
        changed()
      }
    }
    source.activate()
  }

  func add(_ listener: Listener) throws(Errno) {
    do throws(Errno) {
      try watch.add(listener.path)
      try watch.add(Folder.parent(of: listener.path))
    } catch  where error == .noSuchFile {
      // `Listener.isReached` shows the caller that the file is missing.
      return
    }
  }
}
