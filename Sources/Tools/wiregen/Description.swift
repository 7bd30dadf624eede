// SPDX-License-Identifier: Apache-2.0

/// What docs/tribune.wire says.
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

/// Declarations under one heading.
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

/// One of several numbers.
struct Enumeration {
  var name: String
  var type: IntegerType
  var members: [Member] = []
  var documentation: String
}

/// Any of several bits.
struct Bits {
  var name: String
  var type: IntegerType
  /// Whether a reader refuses other bits.
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
  /// The kind's name, as it is in print.
  var word: String
  var direction: Direction
  /// Whether it has no fields at all if all of them are what they are by default.
  var canBeEmpty: Bool
  /// What the bus does with it, a word of each of `Classification.all`; nothing if clients do not send it.
  var classes: [String]
  var content: Content
  var documentation: String

  var fields: [Field] { if case .fields(let fields) = content { fields } else { [] } }
}

/// A question that the description answers about every kind that clients send.
struct Classification {
  /// The property of `FrameKind`, whose type has the same name with a capital letter.
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

/// What can follow the first byte of a frame's fields.
struct Alternative {
  var name: String
  var value: Int
  /// Nil if nothing follows.
  var type: FieldType?
  var documentation: String
}

struct Field {
  var name: String
  var type: FieldType
  var unit: Unit?
  /// As it is written in the description.
  var defaultValue: String?
  /// The name of a limit.
  var limit: String?
  var condition: Condition?
  /// Whether a program overwrites it in an encoded frame.
  var isPatched = false
  var documentation = ""
  /// Whether it shares the line, and so the documentation, of the field before.
  var continuesLine = false

  /// Whether a program need not say that there is no value.
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

  /// The field is there only if an earlier one has this value.
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
  /// What the declaration of this name says.
  case named(String)
  /// An enumeration's number, which may be one that the enumeration does not have.
  case open(String)
  case optional(String)
  case texts
  case integers
  case records(String)
}
