// SPDX-License-Identifier: Apache-2.0

import TribuneProtocols

typealias Library = ProtocolLibrary<Int>

extension ProtocolSource {
  init(_ text: String, file: String = "a.protocol") { self.init(file: file, text: Array(text.utf8)) }
}

extension Library {
  static func loading(_ texts: String...) -> (library: Library, diagnostics: [String]) {
    var library = Library()
    let files = zip(["a.protocol", "b.protocol", "c.protocol"], texts)
    let diagnostics = library.load(files.map { ProtocolSource($1, file: $0) })
    return (library, diagnostics.map(\.description))
  }
}

let everything = """
  # What a scroll view asks and tells its delegate.
  protocol ScrollViewDelegate {
    # Where something is.
    type Point (x: float, y: float)
    type Unit (pixel, page)
    type Tree (value: string, children: []Tree, parent: ?Tree, named: [string]Tree)

    # Whether a tap on the
    # status bar scrolls.
    optional should scrollView.shouldScrollToTop (animated: bool)
    optional did scrollView.didScroll (offset: float, page: int, at: ?Point, unit: Unit)
    required will scrollView.willScroll (tree: Tree, type: string, optional: ?[][string]object)
    optional value scrollView.zoomTarget () -> (view: ?string, kind: (near, far), at: (x: int, y: int))
  }

  protocol TapScrollViewDelegate : ScrollViewDelegate {
    required did scrollView.didTap (at: Point)
  }

  """
