// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The results for programs: every round's figures, in each work's base unit.
struct JSONReport {
  private let document: Document

  init(_ results: Results) {
    document = Document(
      machine: results.machine, effort: results.effort, works: results.works.map(Document.Work.init),
      curves: results.curves.map { result in
        Document.Curve(
          name: result.curve.name, title: result.curve.title, x: result.curve.xTitle,
          points: result.points.map { Document.Point(x: $0.x, work: Document.Work($0.result)) })
      })
  }

  var text: String {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      encoder.dateEncodingStrategy = .iso8601
      return String(decoding: try encoder.encode(document), as: UTF8.self) + "\n"
    }
  }

  private struct Document: Encodable {
    var machine: Machine
    var effort: Effort
    var works: [Work]
    var curves: [Curve]

    struct Curve: Encodable {
      var name: String
      var title: String
      var x: String
      var points: [Point]
    }

    struct Point: Encodable {
      var x: Int
      var work: Work
    }

    struct Work: Encodable {
      var name: String
      var title: String
      var unit: Unit
      var subjects: [Subject]
      var targets: [Target]

      init(_ result: WorkResult) {
        name = result.work.name
        title = result.work.title
        unit = result.work.unit
        subjects = result.work.subjects.map { subject in
          Subject(
            name: subject.name, title: subject.title, role: subject.role, figure: result.spread(of: subject),
            ofBaseline: result.multiples(of: subject), rounds: result.found(subject),
            absence: result.absences[subject])
        }
        targets = result.work.targets.map { Target($0, of: result) }
      }
    }

    struct Subject: Encodable {
      var name: String
      var title: String
      var role: bench.Subject.Role
      var figure: Spread?
      var ofBaseline: Spread?
      var rounds: [Sample]?
      var absence: Absence?
    }

    struct Target: Encodable {
      var title: String
      var target: String
      var found: Spread?
      var isMet: Bool?
      var absence: String?

      init(_ target: bench.Target, of result: WorkResult) {
        title = target.title
        self.target = target.text(in: result.work.unit)
        do {
          let reading = try target.reading(of: result)
          found = reading.spread
          isMet = reading.isMet
        } catch {
          absence = "\(error)"
        }
      }
    }
  }
}
