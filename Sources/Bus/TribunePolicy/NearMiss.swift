// SPDX-License-Identifier: Apache-2.0

import TribuneWire

/// An allow line that does not allow a refused request, but would if one thing were different (`lacks`).
package struct NearMiss: Equatable, Sendable {
  package var index: Int
  /// The reason why the line does not allow the request, such as `needs group:operators`.
  package var lacks: String
}

extension Policy {
  /// The first `count` near misses. The difference is the subject, the action or the object, or the line's
  /// pattern covers only a part of the request.
  package func nearMisses(to request: Request, by subject: Subject, count: Int) -> [NearMiss] {
    let misses = lines.lazy.enumerated().compactMap { index, line -> NearMiss? in
      guard line.effect == .allow else { return nil }
      let bound = line.bound(to: subject.user, as: index)
      let lacking = zip(line.who, line.whoTexts).filter { !$0.0.isMet(by: subject, for: .allow) }.map(\.1)
      let isRight = request.isSatisfiedByPart ? bound.overlaps(request) : bound.contains(request)
      switch (line.actions.contains(request.action), isRight, lacking.isEmpty) {
      case (true, true, false):
        return NearMiss(index: index, lacks: "needs \(lacking.joined(separator: ", "))")
      case (false, true, true): return NearMiss(index: index, lacks: "does not allow \(request.action.name)")
      case (true, false, true):
        if let object = bound.object, bound.hasNames(of: request) {
          return NearMiss(index: index, lacks: "needs an object that matches \(object.text)")
        }
        guard bound.overlaps(request) else { return nil }
        return NearMiss(index: index, lacks: "allows only part of \(request.pattern.text)")
      default: return nil
      }
    }
    return Array(misses.prefix(count))
  }
}
