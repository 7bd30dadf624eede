// SPDX-License-Identifier: Apache-2.0

/// Sleeps for the span. If the task is cancelled, returns early. The caller must check for cancellation.
package func rest(for span: Duration) async {
  do {
    try await Task.sleep(for: span)
  } catch {
    return
  }
}
