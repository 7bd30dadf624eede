// SPDX-License-Identifier: Apache-2.0

/// A file that holds the long userInfo of a frame. The conforming object owns the file, and keeps it open while
/// the object is attached to a buffer.
///
/// Higher layers define the conforming class, so this is an existential in the per-message path. For a frame
/// without a file, it costs only a check for nil.
@usableFromInline package protocol AttachedFile: AnyObject, Sendable {
  /// The file's length, in bytes.
  var length: Int { get }
  var rawDescriptor: Int32 { get }
}
