// SPDX-License-Identifier: Apache-2.0

import TribuneHTTP
import TribuneService
import TribuneSystem

nonisolated package struct PageFiles: Sendable {
  private static let names: [(path: String, file: String, type: String)] = [
    ("/", "index.html", "text/html; charset=utf-8"),
    ("/page.css", "page.css", "text/css; charset=utf-8"),
    ("/page.js", "page.js", "text/javascript; charset=utf-8"),
    ("/plot.js", "plot.js", "text/javascript; charset=utf-8"),
    ("/icon.svg", "icon.svg", "image/svg+xml"),
  ]

  package struct Missing: Error, CustomStringConvertible {
    package let description: String
  }

  private var responses: [String: HTTPResponse] = [:]

  package init(in directory: String) throws(Missing) {
    for (path, file, type) in Self.names {
      let file = "\(directory)/\(file)"
      do throws(Errno) {
        guard let contents = try ConfigurationFiles.contents(of: file) else { throw .fileTooBig }
        responses[path] = HTTPResponse(type: type, contents)
      } catch {
        throw Missing(description: "\(file) cannot be read: \(error)")
      }
    }
  }

  /// Reads the installed files, or else the files of the source tree.
  init(besideProgram: Void) throws(Missing) {
    let folder = ThisProcess.path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
    var missing = Missing(description: "the page is missing")
    // Each pair has the number of levels to go up from the program's folder, and the page's folder from
    // there. The pairs are for "make install", SwiftPM, and SwiftPM's tests.
    for (levels, place) in [(1, "share/tribune/web"), (3, "web"), (4, "web")] where folder.count > levels {
      do throws(Missing) {
        self = try PageFiles(in: (folder.dropLast(levels) + [place[...]]).joined(separator: "/"))
        return
      } catch {
        missing = error
      }
    }
    throw Missing(description: "\(missing); --page= says where the files are")
  }

  func response(at path: String) -> HTTPResponse? { responses[path] }
}
