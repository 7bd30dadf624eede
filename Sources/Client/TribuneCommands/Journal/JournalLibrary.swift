// SPDX-License-Identifier: Apache-2.0

import TribuneSystem

/// The part of libsystemd that reads the journal, loaded on demand and never unloaded.
///
/// Linking the library would add 0.4 ms to each start of tribunectl, a quarter of the start time. Units that
/// run `ask` in ExecCondition= would notice that. The declarations follow <systemd/sd-journal.h>. The
/// library's name ends in its ABI number, which has not changed since 2013.
@safe struct JournalLibrary: Sendable {
  typealias Handle = OpaquePointer
  typealias Enumeration =
    @convention(c) (Handle, UnsafeMutablePointer<UnsafeRawPointer?>, UnsafeMutablePointer<Int>) -> CInt

  let open: @convention(c) (UnsafeMutablePointer<Handle?>, CInt) -> CInt
  let openDirectory: @convention(c) (UnsafeMutablePointer<Handle?>, UnsafePointer<CChar>, CInt) -> CInt
  let close: @convention(c) (Handle) -> Void
  let addMatch: @convention(c) (Handle, UnsafeRawPointer, Int) -> CInt
  let seekTail: @convention(c) (Handle) -> CInt
  let seekTime: @convention(c) (Handle, UInt64) -> CInt
  let next: @convention(c) (Handle) -> CInt
  let previous: @convention(c) (Handle) -> CInt
  let time: @convention(c) (Handle, UnsafeMutablePointer<UInt64>) -> CInt
  let usage: @convention(c) (Handle, UnsafeMutablePointer<UInt64>) -> CInt
  let setThreshold: @convention(c) (Handle, Int) -> CInt
  let restartFields: @convention(c) (Handle) -> Void
  let nextField: Enumeration
  let queryValues: @convention(c) (Handle, UnsafePointer<CChar>) -> CInt
  let nextValue: Enumeration
  let wait: @convention(c) (Handle, UInt64) -> CInt

  init() throws(CommandError) {
    do throws(DynamicLibrary.LoadError) {
      let library = try DynamicLibrary("libsystemd.so.0")
      unsafe self.open = unsafe try library.function("sd_journal_open")
      unsafe self.openDirectory = unsafe try library.function("sd_journal_open_directory")
      unsafe self.close = unsafe try library.function("sd_journal_close")
      unsafe self.addMatch = unsafe try library.function("sd_journal_add_match")
      unsafe self.seekTail = unsafe try library.function("sd_journal_seek_tail")
      unsafe self.seekTime = unsafe try library.function("sd_journal_seek_realtime_usec")
      unsafe self.next = unsafe try library.function("sd_journal_next")
      unsafe self.previous = unsafe try library.function("sd_journal_previous")
      unsafe self.time = unsafe try library.function("sd_journal_get_realtime_usec")
      unsafe self.usage = unsafe try library.function("sd_journal_get_usage")
      unsafe self.setThreshold = unsafe try library.function("sd_journal_set_data_threshold")
      unsafe self.restartFields = unsafe try library.function("sd_journal_restart_data")
      unsafe self.nextField = unsafe try library.function("sd_journal_enumerate_available_data")
      unsafe self.queryValues = unsafe try library.function("sd_journal_query_unique")
      unsafe self.nextValue = unsafe try library.function("sd_journal_enumerate_available_unique")
      unsafe self.wait = unsafe try library.function("sd_journal_wait")
    } catch {
      throw .failure("the library that reads the journal cannot be loaded: \(error)")
    }
  }
}
