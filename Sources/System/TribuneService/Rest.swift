// SPDX-License-Identifier: Apache-2.0

/// Also returns on cancellation, which the caller must check.
package func rest(for span: Duration) async {
  do {
    try await Task.sleep(for: span)
  } catch {
    return
  }
}
