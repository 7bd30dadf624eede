// SPDX-License-Identifier: Apache-2.0

import CNats

/// A subscription, which ends with this object.
@safe nonisolated final class NATSSubscription {
  private let subscription: OpaquePointer

  /// - Parameter subscription: belongs to this object from now on.
  init(_ subscription: OpaquePointer) {
    unsafe self.subscription = subscription
    // What waits at libnats is on its way to a lane.
    unsafe natsSubscription_SetPendingLimits(subscription, CInt(Lane.countMax), CInt(Lane.weightMax))
  }

  deinit { unsafe natsSubscription_Destroy(subscription) }
}
