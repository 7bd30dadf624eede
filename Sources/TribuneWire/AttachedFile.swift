// SPDX-License-Identifier: Apache-2.0

/// A file that travels beside a frame, for a userInfo that is too long to be copied from one to the next.
///
/// The wire only knows how long it is and which descriptor goes with the frame's first byte; the file belongs
/// to the object, and is open for as long as that is attached to a buffer. What a file is, a higher floor knows: hence an
/// existential on the way of messages, which costs those without a file one look whether there is one.
@usableFromInline package protocol AttachedFile: AnyObject, Sendable {
  /// Bytes in the file.
  var length: Int { get }
  var rawDescriptor: Int32 { get }
}
