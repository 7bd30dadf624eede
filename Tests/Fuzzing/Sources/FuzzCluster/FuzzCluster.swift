// SPDX-License-Identifier: Apache-2.0

import CLibFuzzer
import Glibc
import TribuneWire

@testable import TribuneNATS

@main
struct FuzzCluster {
  static func main() {
    exit(unsafe tribune_run_fuzzer(CommandLine.argc, CommandLine.unsafeArgv))
  }
}

/// Reads the input as a message of another host: the subject, headers and an empty line, then the payload. An
/// accepted message survives writing and reading.
@c(LLVMFuzzerTestOneInput)
public func fuzzCluster(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  let message = unsafe message(in: Array(UnsafeBufferPointer(start: start, count: count)))
  let subjects = Subjects(cluster: "shop", host: "db1")
  _ = subjects.parse(message.subject)
  if let key = Bucket(cluster: "shop").key(of: message.subject) {
    precondition(RetainedKey(key.text[...]) == key)
  }
  read(message, { m throws(EnvelopeError) in try PostEnvelope(m) }, { $0.headers })
  read(message, { m throws(EnvelopeError) in try AskEnvelope(m) }, { $0.headers })
  read(message, { m throws(EnvelopeError) in try ReplyEnvelope(m) }, { $0.headers })
  read(message, { m throws(EnvelopeError) in try LeaseNotice(m) }, { $0.headers })
  do throws(LeaseRecordError) {
    let record = try LeaseRecord(message.payload)
    let same = try LeaseRecord(record.bytes)
    precondition(same == record)
  } catch {
    return 0
  }
  return 0
}

private func message(in input: [UInt8]) -> ClusterMessage {
  var lines = input.split(separator: 10, maxSplits: 64, omittingEmptySubsequences: false)[...]
  var message = ClusterMessage(String(decoding: lines.popFirst() ?? [], as: UTF8.self))
  while let line = lines.popFirst(), !line.isEmpty {
    let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 1)
    guard parts.count == 2,
      let header = ClusterMessage.Header(rawValue: String(decoding: parts[0], as: UTF8.self))
    else { continue }
    message.headers[header] = String(decoding: parts[1], as: UTF8.self)
  }
  message.payload = Array(lines.joined(separator: [10]))
  return message
}

private func read<Envelope: Equatable>(
  _ message: ClusterMessage, _ parse: (ClusterMessage) throws(EnvelopeError) -> Envelope,
  _ headers: (Envelope) -> [ClusterMessage.Header: String]
) {
  do throws(EnvelopeError) {
    let envelope = try parse(message)
    var again = message
    again.headers = headers(envelope)
    // Poster and asker are written for information and never read.
    let same = try parse(again)
    precondition(headers(same) == headers(envelope))
    precondition(same == envelope)
  } catch {
    return
  }
}
