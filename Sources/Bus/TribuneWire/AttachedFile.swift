// SPDX-License-Identifier: Apache-2.0

/// A file with the long userInfo of one frame. The conforming object owns the file, and keeps it open while a
/// buffer refers to the object (`ByteBuffer.attachment`).
///
/// A higher layer defines the conforming class, so a buffer stores an existential. For a frame without a
/// file, the existential costs only a check for nil.
@usableFromInline package protocol AttachedFile: AnyObject, Sendable {
  /// The file's length, in bytes.
  var length: Int { get }
  var rawDescriptor: Int32 { get }
}
