// SPDX-License-Identifier: Apache-2.0

/// Returns after this time, or when the task is cancelled: the caller looks at that.
package func rest(for span: Duration) async {
  do {
    try await Task.sleep(for: span)
  } catch {
    return
  }
}
