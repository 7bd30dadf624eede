// SPDX-License-Identifier: Apache-2.0

/// A file that travels with a frame, for long userInfo. The object owns the file, and keeps it open while it is
/// attached to a buffer.
///
/// It is an existential in the per-message path, because higher layers define the object; a frame without a file pays
/// only for the check.
@usableFromInline package protocol AttachedFile: AnyObject, Sendable {
  /// In bytes.
  var length: Int { get }
  var rawDescriptor: Int32 { get }
}
