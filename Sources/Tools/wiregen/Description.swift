// SPDX-License-Identifier: Apache-2.0

/// The contents of docs/tribune.wire.
struct Description {
  var limits: [Limit] = []
  var sections: [Section] = []

  var types: [Declaration] { sections.flatMap(\.declarations) }

  var frames: [Frame] {
    types.compactMap { if case .frame(let frame) = $0 { frame } else { nil } }.sorted {
      $0.number < $1.number
    }
  }

  var enumerations: [Enumeration] {
    types.compactMap { if case .enumeration(let enumeration) = $0 { enumeration } else { nil } }
  }

  func declaration(named name: String) -> Declaration? { types.first { $0.name == name } }
}

struct Section {
  var name: String
  var declarations: [Declaration] = []
}

struct Limit {
  var name: String
  var value: Int
  var documentation: String
}

enum Declaration {
  case id(name: String, documentation: String)
  case enumeration(Enumeration)
  case bits(Bits)
  case record(Record)
  case frame(Frame)

  var name: String {
    switch self {
    case .id(let name, _): name
    case .enumeration(let enumeration): enumeration.name
    case .bits(let bits): bits.name
    case .record(let record): record.name
    case .frame(let frame): frame.name
    }
  }
}

struct Enumeration {
  var name: String
  var type: IntegerType
  var members: [Member] = []
  var documentation: String
}

struct Bits {
  var name: String
  var type: IntegerType
  /// True if a reader refuses unknown bits.
  var isStrict: Bool
  var members: [Member] = []
  var documentation: String
}

struct Member {
  var name: String
  var value: Int
  var documentation: String
}

struct Record {
  var name: String
  var fields: [Field] = []
  var documentation: String
}

struct Frame {
  enum Direction: String {
    case fromClient = "C→B"
    case fromBus = "B→C"
    case both
  }

  enum Content {
    case fields([Field])
    case choice([Alternative])
  }

  var name: String
  var number: Int
  /// The kind's name in `FrameKind` and in documents.
  var word: String
  var direction: Direction
  /// True if a writer omits all fields when they all have their defaults.
  var canBeEmpty: Bool
  /// One word for each of `Classification.all`; empty if clients do not send the kind.
  var classes: [String]
  var content: Content
  var documentation: String

  var fields: [Field] { if case .fields(let fields) = content { fields } else { [] } }
}

/// A property of `FrameKind` that classifies the kinds that clients send.
struct Classification {
  /// The name of the property. Its type has the same name, capitalized.
  var property: String
  var words: [String]
  var documentation: String

  static let all = [
    Classification(
      property: "effect", words: ["passes", "observes", "decides", "suspends", "cancels", "asks", "answers"],
      documentation: "what the bus remembers of a frame"),
    Classification(
      property: "workload", words: ["long", "long fields", "long payload"],
      documentation: "whether one can be much work"),
    Classification(
      property: "shownName", words: ["named", "named by query", "named by post", "unnamed"],
      documentation: "the name under which monitors see a frame"),
  ]
}

/// One case of a choice. The frame's first byte selects it.
struct Alternative {
  var name: String
  var value: Int
  var type: FieldType?
  var documentation: String
}

struct Field {
  var name: String
  var type: FieldType
  var unit: Unit?
  var defaultValue: String?
  /// The name of the limit for the field's number of elements.
  var limit: String?
  var condition: Condition?
  /// True if a program overwrites the field in an encoded frame.
  var isPatched = false
  var documentation = ""
  /// True if the field shares the line and the documentation of the preceding field.
  var continuesLine = false

  var isAbsentByDefault: Bool {
    if case .optional = type { true } else { condition != nil }
  }

  enum Unit: String {
    case milliseconds = "ms"
    case microseconds = "µs"
    case nanoseconds = "ns"
    /// Microseconds since 1970, UTC.
    case time
  }

  /// The field exists only if the earlier field `field` has the value `word`.
  struct Condition {
    var field: String
    var word: String
  }
}

enum IntegerType: String {
  case u8, u16, u32, u64, i32

  var size: Int {
    switch self {
    case .u8: 1
    case .u16: 2
    case .u32, .i32: 4
    case .u64: 8
    }
  }
}

enum FieldType: Equatable {
  case integer(IntegerType)
  case bool
  case text
  case bytes
  case named(String)
  /// An enumeration that allows unknown numbers.
  case open(String)
  case optional(String)
  case texts
  case integers
  case records(String)
}
