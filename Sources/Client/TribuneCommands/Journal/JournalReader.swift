// SPDX-License-Identifier: Apache-2.0

import TribuneSystem

@safe struct JournalReader: ~Copyable {
  /// In each of these folders, each machine has a subfolder.
  private static let systemFolders = ["/var/log/journal", "/run/log/journal"]
  /// SD_JOURNAL_LOCAL_ONLY: omits entries from other hosts, which do not concern this bus.
  private static let localOnly: CInt = 1

  struct Entry: Equatable, Sendable {
    /// Microseconds since 1970, UTC.
    var time: UInt64
    var fields: [String: [String]]
    /// False for an entry from the journal, which any process can write. True if the bus returned the entry.
    var isOfBus = false

    subscript(field: String) -> String? { fields[field]?.first }
  }

  private let library: JournalLibrary
  private let handle: JournalLibrary.Handle
  let forbidden: [String]

  /// - Parameter directory: nil for this host's journal.
  /// - Throws: an error with the reason if no journal is readable.
  init(directory: String? = nil) throws(CommandError) {
    let library = try JournalLibrary()
    let machines = (directory.map { [$0] } ?? Self.systemFolders).flatMap(Self.contents)
    let forbidden = ((directory.map { [$0] } ?? []) + machines).flatMap(Self.contents)
      .filter { $0.hasSuffix(".journal") && InputFile.isForbidden($0) }
    let handle = unsafe try Self.open(directory, library, forbidden)
    self.library = library
    self.forbidden = forbidden
    unsafe self.handle = unsafe handle
  }

  private static func open(
    _ directory: String?, _ library: JournalLibrary, _ forbidden: [String]
  ) throws(CommandError) -> JournalLibrary.Handle {
    var opened: JournalLibrary.Handle?
    let result =
      if let directory {
        unsafe library.openDirectory(&opened, directory, 0)
      } else {
        unsafe library.open(&opened, localOnly)
      }
    guard result >= 0, let handle = unsafe opened else {
      let place = directory ?? "this host"
      throw .failure("the journal of \(place.terminalSafe) cannot be opened: \(Errno(rawValue: -result))")
    }
    var size: UInt64 = 0
    // libsystemd does not report files that it could not open. If it opened no file, the size is 0.
    if unsafe library.usage(handle, &size) >= 0, size > 0 { return unsafe handle }
    unsafe library.close(handle)
    if let first = forbidden.first {
      throw .failure(
        "no permission to read the journal \(first.terminalSafe); members of the group systemd-journal have it"
      )
    }
    throw .failure(
      directory.map { "there is no journal in \($0.terminalSafe)" }
        ?? "there is no journal on this host (searched \(systemFolders.joined(separator: " and ")))")
  }

  deinit { unsafe library.close(handle) }

  /// Restricts the entries. Each call allows one more value of its field. An entry must have an allowed value
  /// in each field that a call has named.
  func match(_ field: String, _ value: String) throws(CommandError) {
    let match = Array("\(field)=\(value)".utf8)
    try check(unsafe library.addMatch(handle, match, match.count))
  }

  func seek(to time: UInt64) throws(CommandError) { try check(unsafe library.seekTime(handle, time)) }

  func seek(before time: UInt64) throws(CommandError) {
    try check(unsafe time == .max ? library.seekTail(handle) : library.seekTime(handle, time))
  }

  func next() throws(CommandError) -> Entry? {
    try check(unsafe library.next(handle)) > 0 ? try entry() : nil
  }

  func previous() throws(CommandError) -> Entry? {
    try check(unsafe library.previous(handle)) > 0 ? try entry() : nil
  }

  /// Waits for new entries. The first call returns at once, because entries may have arrived before the call.
  func wait() throws(CommandError) { try check(unsafe library.wait(handle, .max)) }

  func values(of field: String, upTo count: Int) throws(CommandError) -> [String] {
    try check(unsafe library.queryValues(handle, field))
    var values: [String] = []
    while values.count < count, let field = try unsafe piece(library.nextValue) { values.append(field.value) }
    return values
  }

  private func entry() throws(CommandError) -> Entry {
    var entry = Entry(time: 0, fields: [:])
    try check(unsafe library.time(handle, &entry.time))
    // libsystemd cuts values beyond this length. The bus writes only shorter values.
    try check(unsafe library.setThreshold(handle, 1 << 20))
    unsafe library.restartFields(handle)
    while let field = try unsafe piece(library.nextField) {
      entry.fields[field.name, default: []].append(field.value)
    }
    return entry
  }

  private func piece(
    _ next: JournalLibrary.Enumeration
  ) throws(CommandError) -> (name: String, value: String)? {
    var start: UnsafeRawPointer?
    var count = 0
    guard try check(unsafe next(handle, &start, &count)) > 0 else { return nil }
    let bytes = unsafe UnsafeRawBufferPointer(start: start, count: count)
    let name = unsafe bytes.prefix { $0 != UInt8(ascii: "=") }
    let value = unsafe bytes.dropFirst(name.count + 1)
    return unsafe (String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self))
  }

  @discardableResult
  private func check(_ result: CInt) throws(CommandError) -> CInt {
    guard result >= 0 else { throw .failure("the journal cannot be read: \(Errno(rawValue: -result))") }
    return result
  }

  private static func contents(of folder: String) -> [String] {
    do throws(Errno) {
      return try Folder.names(in: Array(folder.utf8)).map { String(decoding: $0, as: UTF8.self) }
        .filter { !$0.hasPrefix(".") }.map { "\(folder)/\($0)" }
    } catch {
      return []
    }
  }
}
