// SPDX-License-Identifier: Apache-2.0

/// A file that travels beside a frame, for userInfo that is too long to copy.
///
/// The wire layer only knows its length, and the descriptor that goes with the frame's first byte. The object owns
/// the file, and keeps it open as long as it is attached to a buffer. Higher layers define the object, hence an
/// existential in the per-message path; a frame without a file pays only for the check whether there is one.
@usableFromInline package protocol AttachedFile: AnyObject, Sendable {
  /// Bytes in the file.
  var length: Int { get }
  var rawDescriptor: Int32 { get }
}
