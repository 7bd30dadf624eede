// SPDX-License-Identifier: Apache-2.0

/// The store of the connection to NATS that there is, opened when it is needed.
// Used by one queue, one call at a time.
nonisolated final class CurrentLeaseStore: @unchecked Sendable {
  private let cluster: String
  private let replicas: Int
  private var client: NATSClient?
  private var opened: LeaseStore?
  private var wasThere = false

  init(cluster: String, replicas: Int) { (self.cluster, self.replicas) = (cluster, replicas) }

  func use(_ client: NATSClient) {
    guard client !== self.client else { return }
    (self.client, opened) = (client, nil)
  }

  func get() throws(LeaseStoreError) -> LeaseStore {
    if let opened { return opened }
    guard let client else { preconditionFailure("a store is asked for once there is a connection") }
    let store = try LeaseStore(client, cluster: cluster, replicas: replicas, wasThere: wasThere)
    (opened, wasThere) = (store, true)
    return store
  }
}
