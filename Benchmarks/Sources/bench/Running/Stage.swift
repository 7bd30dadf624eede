// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The measured servers, and the bystanders on them.
@MainActor
final class Stage {
  private(set) var servers: [Server.Kind: Server] = [:]
  /// Why servers are missing, by their kind.
  private(set) var absences: [Server.Kind: Absence] = [:]
  private var bystanders: [Bystanders] = []
  private let programs: Programs
  private let folder: URL

  init(_ programs: Programs, in folder: URL) {
    self.programs = programs
    self.folder = folder
  }

  /// Starts the servers of these subjects. One that does not start is an absence.
  func start(for subjects: [Subject], effort: Effort) {
    for subject in subjects {
      guard let kind = subject.host, servers[kind] == nil, absences[kind] == nil else { continue }
      do {
        let server = try Server(kind, programs, in: folder)
        servers[kind] = server
        if let crowd = effort.crowd(on: kind) {
          bystanders.append(try Bystanders(crowd, on: server, haveStars: kind == .starred))
        }
      } catch {
        absences[kind] = Absence(reason: "\(error)")
      }
    }
  }

  /// The versions of the peers.
  var versions: [String: String] {
    servers.filter(\.key.isPeer).reduce(into: [:]) { $0[$1.key.rawValue] = $1.value.version }
  }

  /// Disconnects the bystanders, and checks that they have received nothing.
  func leave() throws {
    defer { bystanders = [] }
    for group in bystanders { try group.leave() }
  }

  func stop() {
    for server in servers.values { server.stop() }
    servers = [:]
  }
}

extension Effort {
  /// The bystanders on a server of this kind.
  func crowd(on kind: Server.Kind) -> Crowd? {
    switch kind {
    case .crowded, .starred: bystanders
    case .idle: Crowd(connections: idleConnections, observationsEach: 0)
    default: nil
    }
  }
}
