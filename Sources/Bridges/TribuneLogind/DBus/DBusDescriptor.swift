// SPDX-License-Identifier: Apache-2.0

package import TribuneSystem

nonisolated package final class DBusDescriptor: Equatable, Sendable {
  package let descriptor: FileDescriptor

  init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

  package static func == (one: DBusDescriptor, other: DBusDescriptor) -> Bool { one === other }
}
