// SPDX-License-Identifier: Apache-2.0

package import TribuneWire

extension Array where Element == UInt8 {
  package var raw: RawSpan {
    @_lifetime(borrow self)
    get { unsafe span.bytes }
  }

  package var hex: String {
    map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: " ")
  }
}

extension ByteBuffer {
  package var array: [UInt8] { Array(bytes) }

  package convenience init(holding bytes: [UInt8]) { self.init(holding: bytes.raw) }

  package convenience init(_ fill: (ByteBuffer) -> Void) {
    self.init(capacity: 0)
    fill(self)
  }
}

package func refusal(_ body: () throws(WireError) -> Void) -> ErrorCode? {
  do {
    try body()
    return nil
  } catch {
    return error.code
  }
}
