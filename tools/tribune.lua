-- SPDX-License-Identifier: Apache-2.0
--
-- A Wireshark dissector for what "tribunectl capture" writes: pcapng packets of link type USER0, each one
-- frame of the protocol as docs/PROTOCOL.md lays it out. Mostly they are `traffic` frames, which carry the
-- frame that passed: its parts are what tribune.kind, tribune.name, tribune.object, tribune.serial … mean.
--
--     wireshark -X lua_script:tribune.lua FILE
--
-- Nothing in a packet is trusted: each length is checked before it is used, and a packet that is not what it
-- should be is marked as malformed (tribune.malformed), with what could be read of it.

local tribune = Proto("tribune", "Tribune")

-- The frames, as tables -------------------------------------------------------------------------------------

local kinds = {
  [1] = "welcome", [2] = "error", [3] = "ok", [4] = "post", [5] = "lost", [6] = "observe", [7] = "attach",
  [8] = "ask", [9] = "question", [10] = "answer", [11] = "defer", [12] = "progress", [13] = "verdict",
  [14] = "concluded", [15] = "cancel", [16] = "list", [17] = "entry", [18] = "monitor", [19] = "traffic",
  [20] = "hold", [21] = "ended", [22] = "declare", [23] = "suspend", [24] = "retained", [25] = "done",
  [26] = "awaited", [27] = "succeed", [29] = "poster",
}
local TRAFFIC = 19

local errors = {
  [1] = "badMagic", [2] = "unsupportedVersion", [3] = "frameTooLong", [4] = "malformedFrame",
  [5] = "unknownCriticalKind", [6] = "helloTimeout", [7] = "frameTimeout", [8] = "unexpectedDescriptors",
  [9] = "tooSlow", [10] = "tooManyConnections", [11] = "outOfMemory", [12] = "shuttingDown",
  [13] = "missingDescriptor", [14] = "restarted", [15] = "afterLast", [64] = "unknownKind", [65] = "invalidName",
  [66] = "invalidPattern", [67] = "invalidObject", [68] = "invalidValue", [69] = "reservedName",
  [70] = "duplicateSerial", [71] = "notFound", [72] = "notAsked", [73] = "limitExceeded", [74] = "cancelled",
  [75] = "recursion", [76] = "notPermitted", [77] = "unknownProtocol", [78] = "invalidProtocol",
  [79] = "notConforming", [80] = "unknownName", [81] = "invalidParameter", [82] = "conflict",
  [83] = "invalidDescriptor",
}

-- An enumeration begins at 0.
local function enumeration(...)
  local values = {}
  for index, word in ipairs({ ... }) do values[index - 1] = word end
  return values
end

local policies = enumeration("veto", "abstain")
local outcomes = enumeration(
  "approved", "vetoed", "abstained", "timedOut", "gone", "failed", "held", "answered")
local verdicts = enumeration("allowed", "vetoed")
local suspensions = enumeration("coalesce", "drop", "hold", "deliverImmediately")
local subjects = enumeration(
  "bus", "connections", "observations", "delegates", "chain", "holds", "objects", "protocols", "members",
  "retained", "access", "endings", "departed", "accounts")

-- A field is its name, which is `tribune.` and that in filters, its type, and for some what its values or its
-- bits are called. Fields of one name have one type wherever they are.
local peer = {
  { "pid", "u32" }, { "uid", "u32" }, { "gid", "u32" }, { "process", "text" }, { "units", "text" },
}
local delegate = { { "delegate", "u64" }, { "label", "text" }, { "peer", "group", peer } }

local access_subject = { { "uid", "u32" }, { "groups", "numbers" }, { "system_unit", "text" } }
local policy_line = { { "file", "text" }, { "line", "u32" }, { "text", "text" } }

local delegate_entry = {
  { "connection", "id" }, { "identity", "group", delegate }, { "about", "text" }, { "order", "i32" },
  { "policy", "enum", policies }, { "timeout", "u32" }, { "pattern", "texts" },
}

local entries = enumeration(
  "bus", "connection", "observation", "delegate", "hold", "missing", "object", "protocol", "member",
  "retained", "access", "nearMiss", "ending", "departed", "account")
local entry_fields = enumeration(
  {
    { "bus_pid", "u32" }, { "software", "text" }, { "address", "text" }, { "uptime", "u64" },
    { "connections", "u32" }, { "observations", "u32" }, { "delegates", "u32" }, { "queries", "u32" },
    { "posted", "u64" }, { "delivered", "u64" }, { "lost", "u64" }, { "asked", "u64" }, { "vetoed", "u64" },
    { "holds", "u32" }, { "denied", "u64", newer = true },
  },
  {
    { "connection", "id" }, { "peer", "group", peer }, { "age", "u64" }, { "observations", "u32" },
    { "delegates", "u32" }, { "queries", "u32" }, { "queued", "u64" }, { "lost", "u64" }, { "posted", "u64" },
    { "state", "bits", { [1] = "paused", [2] = "lossy", [4] = "suspended", [8] = "not_surviving" } },
    { "held", "u64" }, { "coalesced", "u64", newer = true },
  },
  {
    { "connection", "id" }, { "pattern", "text" }, { "about", "text" }, { "suspension", "enum", suspensions },
    { "is_awaited", "bool" },
  },
  delegate_entry,
  {
    { "connection", "id" }, { "identity", "group", delegate }, { "pattern", "text" }, { "about", "text" },
    { "why", "text" }, { "age", "u64" }, { "remaining", "u64" },
  },
  { { "label", "text" } },
  { { "about", "text" }, { "protocol", "text" }, { "delegates", "u32" }, { "connection", "id" } },
  {
    { "protocol", "text" }, { "parent", "texts" }, { "members", "u32" }, { "connection", "id" },
    { "documentation", "text" },
  },
  {
    { "protocol", "text" }, { "method", "enum", enumeration("should", "will", "did", "value") },
    { "is_required", "bool" }, { "about", "text" }, { "parameters", "text" }, { "result", "text" },
    { "documentation", "text" },
  },
  {
    { "connection", "id" }, { "uid", "u32" }, { "about", "text" }, { "about_object", "text" },
    { "userinfo_length", "u32" }, { "age", "u64" },
  },
  {
    { "decision", "enum", enumeration("allowed", "denied", "notAllowed", "exempt") },
    { "by", "group", policy_line }, { "subject_identity", "group", access_subject },
  },
  { { "near", "group", policy_line }, { "lacks", "text" } },
  { { "connection", "id" }, { "peer", "group", peer }, { "why", "text" } },
  {
    { "connection", "id" }, { "peer", "group", peer }, { "age", "u64" }, { "elapsed", "u64" },
    { "error", "u16", errors }, { "lost", "u64" }, { "posted", "u64" },
  },
  {
    { "uid", "u32" }, { "weight", "u32" }, { "is_privileged", "bool" }, { "resource", "text" },
    { "used", "u64" }, { "share", "u64" }, { "total", "u64" },
  }
)

local fields_of = {
  [1] = {
    { "connection", "id" }, { "payload_max", "u32" }, { "observations_max", "u32" },
    { "delegates_max", "u32" }, { "queries_max", "u32" }, { "deadline_max", "u32" }, { "deadline", "u32" },
    { "bus_pid", "u32" }, { "software", "text" },
  },
  [2] = { { "error", "u16", errors } },
  [3] = { { "registration", "u64" }, { "delegate", "u64" } },
  [4] = {
    optional = true,
    {
      "options", "bits",
      {
        [1] = "immediately", [2] = "retain", [4] = "coalesce_name", [8] = "coalesce_object",
        [16] = "awaited",
      },
    },
    { "style", "enum", enumeration("now", "asSoonAsPossible", "whenIdle") },
    { "deadline", "u32" }, { "userinfo_length", "u32" },
  },
  [5] = { { "lost", "u64" } },
  [6] = {
    optional = true,
    { "wants", "bits", { [1] = "retained", [2] = "awaited" } }, { "suspension", "enum", suspensions },
  },
  [7] = {
    { "order", "i32" }, { "policy", "enum", policies }, { "timeout", "u32" }, { "label", "text" },
    { "pattern", "texts" }, { "is_set", "bool" }, { "protocol", "texts" },
  },
  [8] = {
    { "deadline", "u32" }, { "mode", "enum", enumeration("parallel", "all", "order", "first", "collect") },
    { "fallback", "enum", verdicts }, { "parent_query", "u64" },
    { "asks", "bits", { [1] = "dry_run", [2] = "override", [4] = "progress" } }, { "why", "text" },
  },
  [9] = {
    { "query", "u64" }, { "delegate", "u64" }, { "timeout", "u32" }, { "peer", "group", peer },
    { "is_dry_run", "bool" }, { "wants_value", "bool" },
  },
  [10] = {
    { "query", "u64" }, { "delegate", "u64" },
    { "answer", "enum", enumeration("approve", "veto", "abstain", "failed", "value") },
  },
  [11] = { { "query", "u64" }, { "delegate", "u64" }, { "extension", "u32" } },
  [12] = {
    { "query", "u64" }, { "identity", "group", delegate }, { "timeout", "u32" },
    { "stage", "enum", enumeration("deferred", "asked", "settled") }, { "outcome", "enum", outcomes },
  },
  [13] = {
    { "query", "u64" }, { "verdict", "enum", verdicts }, { "is_unanswered", "bool" },
    {
      "outcomes", "records",
      {
        { "identity", "group", delegate }, { "outcome", "enum", outcomes }, { "reason", "text" },
        { "elapsed", "u64" }, { "value", "blob" },
      },
    },
    { "is_overridden", "bool" }, { "is_dry_run", "bool" }, { "omitted", "u32", newer = true },
  },
  [14] = {
    { "query", "u64" }, { "delegate", "u64" },
    { "conclusion", "enum", enumeration("allowed", "vetoed", "cancelled") },
  },
  [15] = { { "target", "u64" } },
  [16] = {
    { "subject", "enum", subjects }, { "connection", "id" },
    { "action", "text", when = { "subject", "access" } },
    { "has_subject", "bool", when = { "subject", "access" } },
    { "subject_identity", "group", access_subject, when = { "has_subject", true } },
  },
  [17] = { { "entry", "choice", entries, entry_fields } },
  [18] = {},
  [19] = { { "time", "time" }, { "from", "id" }, { "to", "id" }, { "receivers", "u32" } },
  [20] = { { "expiry", "u64" }, { "label", "text", newer = true }, { "is_last", "bool", newer = true } },
  [21] = {
    {
      "ended", "choice", enumeration("replaced", "expired", "notPermitted"),
      enumeration(delegate_entry, {}, { { "why", "text" } }),
    },
  },
  [22] = { { "protocol_name", "text" } },
  [23] = { { "is_suspended", "bool" } },
  [24] = { { "age", "u64" }, { "userinfo_length", "u32" } },
  [25] = { { "poster", "id" }, { "post", "u64" }, { "has_failed", "bool" } },
  [26] = {
    { "acknowledged", "u32" },
    {
      "missing", "records",
      {
        { "connection", "id" }, { "peer", "group", peer },
        { "failure", "enum", enumeration("timedOut", "gone", "failed") }, { "reason", "text" },
        { "elapsed", "u64" },
      },
    },
  },
  [27] = { { "predecessor", "id" }, { "received", "u64" } },
  [29] = { { "connection", "id" }, { "slot", "u32" }, { "peer", "group", peer } },
}

-- What the payload is, where it is not userInfo.
local payload_titles = {
  [2] = "Message", [10] = "Reason or value", [11] = "Status", [12] = "Status", [16] = "Policy", [20] = "Why",
  [22] = "Definitions", [25] = "Reason",
}

-- What filters know -----------------------------------------------------------------------------------------

local registered = {}

local titles = {
  pid = "PID", uid = "UID", gid = "GID", bus_pid = "PID of the bus", userinfo_length = "Length of userInfo",
}
local units = {
  age = "µs", uptime = "µs", remaining = "µs", elapsed = "µs", expiry = "ns", timeout = "ms", deadline = "ms",
  deadline_max = "ms", extension = "ms",
}

local function title(name)
  if titles[name] then return titles[name] end
  local words = name:gsub("_", " ")
  words = words:sub(1, 1):upper() .. words:sub(2)
  return units[name] and words .. " (" .. units[name] .. ")" or words
end

local function add(name, make, ...)
  registered[name] = registered[name] or make("tribune." .. name, ...)
end

local function register_bits(name, bits)
  add(name, ProtoField.uint8, title(name), base.HEX)
  for bit, word in pairs(bits) do
    add(name .. "." .. word, ProtoField.bool, title(word), 8, nil, bit)
  end
end

local function register(fields)
  for _, field in ipairs(fields) do
    local name, kind, detail = field[1], field[2], field[3]
    if kind == "u16" then add(name, ProtoField.uint16, title(name), base.DEC, detail)
    elseif kind == "u32" or kind == "numbers" then add(name, ProtoField.uint32, title(name), base.DEC)
    elseif kind == "u64" or kind == "id" then add(name, ProtoField.uint64, title(name), base.DEC)
    elseif kind == "i32" then add(name, ProtoField.int32, title(name), base.DEC)
    elseif kind == "bool" then add(name, ProtoField.bool, title(name))
    elseif kind == "enum" then add(name, ProtoField.uint8, title(name), base.DEC, detail)
    elseif kind == "text" or kind == "texts" then add(name, ProtoField.string, title(name))
    elseif kind == "blob" then add(name, ProtoField.bytes, title(name))
    elseif kind == "time" then add(name, ProtoField.absolute_time, title(name), base.UTC)
    elseif kind == "bits" then register_bits(name, detail)
    elseif kind == "group" or kind == "records" then register(detail)
    elseif kind == "choice" then
      add(name, ProtoField.uint8, title(name), base.DEC, detail)
      for _, choice in pairs(field[4]) do register(choice) end
    end
  end
end

local flags = { [1] = "acknowledge", [2] = "descriptor", [128] = "critical" }
add("length", ProtoField.uint32, "Length", base.DEC)
add("kind", ProtoField.uint8, "Kind", base.DEC, kinds)
register_bits("flags", flags)
add("name_length", ProtoField.uint8, "Length of the name", base.DEC)
add("object_length", ProtoField.uint8, "Length of the object", base.DEC)
add("sender", ProtoField.uint64, "Sender", base.DEC)
add("serial", ProtoField.uint64, "Serial", base.DEC)
add("fields_length", ProtoField.uint32, "Length of the fields", base.DEC)
add("reserved", ProtoField.uint32, "Zero", base.DEC)
add("name", ProtoField.string, "Name")
add("object", ProtoField.string, "Object")
add("payload", ProtoField.string, "Payload")
add("payload_bytes", ProtoField.bytes, "Payload")
add("newer", ProtoField.bytes, "Fields of a newer version")
-- The header of the frame that carries another: the unadorned names are the carried one's.
add("traffic.length", ProtoField.uint32, "Length", base.DEC)
add("traffic.serial", ProtoField.uint64, "Serial", base.DEC)
for kind in pairs(kinds) do register(fields_of[kind]) end

local all = {}
for _, field in pairs(registered) do all[#all + 1] = field end
tribune.fields = all

local malformed = ProtoExpert.new(
  "tribune.malformed", "Malformed frame", expert.group.MALFORMED, expert.severity.ERROR)
local truncated = ProtoExpert.new(
  "tribune.truncated", "Longer than what was captured", expert.group.UNDECODED, expert.severity.NOTE)
tribune.experts = { malformed, truncated }

-- Reading ---------------------------------------------------------------------------------------------------

-- A part of a packet, read from its front. It ends at `stop`, and at what was captured, whichever comes first.
local Reader = {}
Reader.__index = Reader

local function reader(tvb, start, stop, tree)
  return setmetatable({ tvb = tvb, position = start, stop = stop, tree = tree }, Reader)
end

local function fail(why) error({ why = why }, 0) end

-- What was not captured is nobody's mistake.
local function cut() error({ cut = true }, 0) end

function Reader:left() return self.stop - self.position end

function Reader:take(count, what)
  if count > self:left() then fail(what .. " ends early") end
  if self.position + count > self.tvb:len() then cut() end
  local range = self.tvb(self.position, count)
  self.position = self.position + count
  return range
end

function Reader:part(count, what)
  if count > self:left() then fail(what .. " ends early") end
  local part = reader(self.tvb, self.position, self.position + count, self.tree)
  self.position = self.position + count
  return part
end

-- Control characters would break the line that they are shown in.
local function line(text)
  text = text:gsub("%c", " ")
  if #text > 200 then text = text:sub(1, 200) .. "…" end
  return text
end

local function connection(number)
  local text = tostring(number)
  return text == "0" and "bus" or ":" .. text
end

local read_fields

local read = {}

local function read_integer(size, as)
  return function(self, name)
    local range = self:take(size, name)
    self.tree:add_le(registered[name], range)
    return range[as](range)
  end
end

read.u16 = function(self, name, values)
  local range = self:take(2, name)
  self.tree:add_le(registered[name], range)
  local number = range:le_uint()
  return values and values[number] or number
end
read.u32 = read_integer(4, "le_uint")
read.u64 = read_integer(8, "le_uint64")
read.i32 = read_integer(4, "le_int")

read.id = function(self, name)
  local range = self:take(8, name)
  local number = range:le_uint64()
  self.tree:add_le(registered[name], range):append_text(" (" .. connection(number) .. ")")
  return connection(number)
end

read.bool = function(self, name)
  local range = self:take(1, name)
  local is = range:uint() ~= 0
  self.tree:add(registered[name], range, is)
  return is
end

read.enum = function(self, name, values)
  local range = self:take(1, name)
  self.tree:add(registered[name], range)
  local word = values[range:uint()]
  if not word then fail(name .. " has no value " .. range:uint()) end
  return word
end

read.bits = function(self, name, bits)
  local range = self:take(1, name)
  local item = self.tree:add(registered[name], range)
  local number = range:uint()
  local words = {}
  for bit = 0, 7 do
    local word = bits[2 ^ bit]
    if word then
      item:add(registered[name .. "." .. word], range)
      if math.floor(number / 2 ^ bit) % 2 == 1 then words[#words + 1] = word end
    end
  end
  return table.concat(words, " ")
end

read.time = function(self, name)
  local range = self:take(8, name)
  local microseconds = range:le_uint64():tonumber()
  local seconds = math.floor(microseconds / 1000000)
  -- The year 9999, past which no calendar of a system goes.
  if seconds < 253402300800 then
    self.tree:add(registered[name], range, NSTime.new(seconds, (microseconds - seconds * 1000000) * 1000))
  end
  return microseconds
end

read.text = function(self, name)
  local length = self:take(2, name):le_uint()
  local range = self:take(length, name)
  if length == 0 then return "" end
  self.tree:add_packet_field(registered[name], range, ENC_UTF_8)
  return range:string(ENC_UTF_8)
end

read.texts = function(self, name)
  local count = self:take(2, name):le_uint()
  local texts = {}
  for _ = 1, count do texts[#texts + 1] = read.text(self, name) end
  return table.concat(texts, " ")
end

read.numbers = function(self, name)
  local count = self:take(4, name):le_uint()
  for _ = 1, count do read.u32(self, name) end
  return count
end

read.blob = function(self, name)
  local length = self:take(4, name):le_uint()
  local range = self:take(length, name)
  if length > 0 then self.tree:add(registered[name], range) end
  return length
end

-- Fields that belong together, in a tree of their own.
read.group = function(self, name, fields)
  local before, start = self.tree, self.position
  self.tree = before:add(tribune, self.tvb(start, 0), title(name))
  local values = read_fields(self, fields)
  self.tree:set_len(self.position - start)
  self.tree = before
  return values
end

read.records = function(self, name, fields)
  local count = self:take(4, name):le_uint()
  for index = 1, count do
    local length = self:take(4, name):le_uint()
    local start = self.position
    local record = self:part(length, name)
    record.tree = self.tree:add(tribune, self.tvb(start, 0), title(name) .. " " .. index)
    local values = read_fields(record, fields)
    record.tree:set_len(math.min(length, self.tvb:len() - start))
    local words = values.outcome or values.failure
    if words then record.tree:append_text(": " .. words) end
  end
  return count
end

read.choice = function(self, name, words, choices)
  local range = self:take(1, name)
  self.tree:add(registered[name], range)
  local number = range:uint()
  if not words[number] then fail(name .. " has no value " .. number) end
  read_fields(self, choices[number])
  return words[number]
end

-- Reads fields in their order.
--
-- Returns what they say, by their names.
read_fields = function(self, fields)
  local values = {}
  if fields.optional and self:left() == 0 then return values end
  for _, field in ipairs(fields) do
    -- What version 0.1.0 did not write.
    if field.newer and self:left() == 0 then break end
    if not field.when or values[field.when[1]] == field.when[2] then
      values[field[1]] = read[field[2]](self, field[1], field[3], field[4])
    end
  end
  return values
end

-- Frames ----------------------------------------------------------------------------------------------------

-- Whether bytes can be shown as text.
local function is_text(range)
  local sample = range:len() > 4096 and range:range(0, 4096) or range
  return not sample:raw():find("[%z\1-\8\11\12\14-\31\127]")
end

-- What a frame says, in a few words, for the column of the packet list.
local function summary(kind, values, payload)
  local word = kinds[kind]
  local said = ""
  if payload and payload:len() > 0 and is_text(payload) then
    said = payload:len() > 300 and payload:range(0, 300):string(ENC_UTF_8) or payload:string(ENC_UTF_8)
  end
  local function with(...)
    local parts = {}
    for index = 1, select("#", ...) do
      local part = select(index, ...)
      if part ~= nil and part ~= "" and part ~= false then parts[#parts + 1] = tostring(part) end
    end
    return table.concat(parts, " ")
  end
  local function of_query() return values.query and "query " .. tostring(values.query) end
  if word == "error" then return with(values.error, said) end
  if word == "lost" then return with(values.lost, "notifications") end
  if word == "post" then return with(values.options, said) end
  if word == "ask" then return with(values.mode, values.asks, said) end
  if word == "question" or word == "concluded" then
    return with(of_query(), values.conclusion, values.is_dry_run and "dry run", said)
  end
  if word == "answer" then return with(of_query(), values.answer, said) end
  if word == "defer" then return with(of_query(), said) end
  if word == "progress" then
    return with(of_query(), values.stage == "settled" and values.outcome or values.stage, said)
  end
  if word == "verdict" then
    return with(
      of_query(), values.verdict, values.is_unanswered and "unanswered", values.is_overridden and "overridden",
      values.is_dry_run and "dry run")
  end
  if word == "attach" then return with(values.pattern, values.label) end
  if word == "cancel" then return with("serial", values.target) end
  if word == "awaited" then return with(values.acknowledged, "done,", values.missing, "missing") end
  if word == "done" then return with(values.has_failed and "failed", values.poster, values.post, said) end
  if word == "suspend" then return values.is_suspended and "suspends" or "resumes" end
  if word == "succeed" then return with(values.predecessor, "with", values.received, "received") end
  return with(values.subject, values.entry, values.ended, values.protocol_name, values.wants, said)
end

-- Shows one frame, from `start` to `stop`, in `tree`.
--
-- Returns what it is in words.
local read_frame

-- Shows the header and what lies behind it of a frame that may be anything.
local function read_parts(tvb, start, stop, tree, pinfo, state)
  local header = reader(tvb, start, stop, tree)
  local range = header:take(32, "the header")
  local length = range(0, 4):le_uint()
  local kind = range(4, 1):uint()
  local name_length, object_length = range(6, 1):uint(), range(7, 1):uint()
  local fields_length = range(24, 4):le_uint()
  local carries = kind == TRAFFIC and not state.is_carried
  state.kind = kinds[kind] or "kind " .. kind

  local top = tree:add(tribune, range, carries and "Header of the traffic frame" or "Header")
  if carries then
    top:add_le(registered["traffic.length"], range(0, 4))
    top:add_le(registered["traffic.serial"], range(16, 8))
  else
    top:add_le(registered.length, range(0, 4))
    top:add(registered.kind, range(4, 1))
    local item = top:add(registered.flags, range(5, 1))
    for bit = 0, 7 do
      local word = flags[2 ^ bit]
      if word then item:add(registered["flags." .. word], range(5, 1)) end
    end
    top:add(registered.name_length, range(6, 1))
    top:add(registered.object_length, range(7, 1))
    top:add_le(registered.sender, range(8, 8)):append_text(
      " (" .. connection(range(8, 8):le_uint64()) .. ")")
    top:add_le(registered.serial, range(16, 8))
    top:add_le(registered.fields_length, range(24, 4))
    top:add_le(registered.reserved, range(28, 4))
  end

  if 32 + fields_length + name_length + object_length > length then
    fail("the frame is shorter than its parts")
  end
  if length ~= stop - start then
    fail("the frame says that it is " .. length .. " bytes long, and is " .. stop - start)
  end

  -- The tail first: the name is worth showing where the fields are wrong.
  local tail = reader(tvb, start + 32 + fields_length, stop, tree)
  local name_start = tail.position
  if name_start + name_length + object_length <= tvb:len() then
    if name_length > 0 then
      state.name = line(tvb(name_start, name_length):string(ENC_UTF_8))
    end
    if object_length > 0 then
      state.object = line(tvb(name_start + name_length, object_length):string(ENC_UTF_8))
    end
  end

  local values = {}
  if fields_of[kind] then
    local fields = reader(tvb, start + 32, start + 32 + fields_length, nil)
    fields.tree = fields_length > 0 and tree:add(tribune, tvb(start + 32, 0), "Fields") or tree
    values = read_fields(fields, fields_of[kind])
    if fields_length > 0 then fields.tree:set_len(fields_length) end
    if fields:left() > 0 then
      local rest = math.min(fields:left(), tvb:len() - fields.position)
      if rest > 0 then fields.tree:add(registered.newer, tvb(fields.position, rest)) end
    end
  end
  state.values = values

  if name_length > 0 then
    tree:add_packet_field(registered.name, tail:take(name_length, "the name"), ENC_UTF_8)
  end
  if object_length > 0 then
    tree:add_packet_field(registered.object, tail:take(object_length, "the object"), ENC_UTF_8)
  end

  if carries then
    state.carried = { is_carried = true }
    read_frame(tvb, tail.position, stop, tree, pinfo, state.carried)
    return
  end

  local payload
  local whole = tail:left()
  local there = math.min(whole, tvb:len() - tail.position)
  if there > 0 then
    payload = tvb(tail.position, there)
    local field = is_text(payload) and registered.payload or registered.payload_bytes
    local item
    if field == registered.payload then
      item = tree:add_packet_field(field, payload, ENC_UTF_8)
    else
      item = tree:add(field, payload)
    end
    item:prepend_text((payload_titles[kind] or "userInfo") .. ", " .. whole .. " bytes. ")
  end
  state.summary = summary(kind, values, payload)
  if there < whole then cut() end
end

read_frame = function(tvb, start, stop, tree, pinfo, state)
  local there = math.max(0, math.min(stop, tvb:len()) - start)
  local item = tree:add(tribune, tvb(math.min(start, tvb:len()), there))
  local worked, problem = pcall(read_parts, tvb, start, stop, item, pinfo, state)
  if not worked then
    if type(problem) == "table" and problem.cut then
      item:add_proto_expert_info(truncated)
    else
      -- What is not a table was not foreseen; the packet is no less at fault.
      local why = type(problem) == "table" and problem.why or tostring(problem)
      item:add_proto_expert_info(malformed, "Malformed: " .. why)
      state.problem = why
    end
  end
  local words = { state.kind or "frame", state.name, state.object, state.summary }
  local text = {}
  for index = 1, 4 do
    if words[index] and words[index] ~= "" then text[#text + 1] = words[index] end
  end
  if state.problem then text[#text + 1] = "[malformed: " .. state.problem .. "]" end
  state.text = line(table.concat(text, " "))
  item:set_text("Tribune, " .. (state.carried and "traffic" or state.text))
end

function tribune.dissector(tvb, pinfo, tree)
  pinfo.cols.protocol:set("Tribune")
  local state = {}
  read_frame(tvb, 0, tvb:reported_len(), tree, pinfo, state)
  local values = state.values or {}
  if state.carried then
    pinfo.cols.src:set(values.from)
    local receivers = values.receivers
    if values.to ~= "bus" then
      pinfo.cols.dst:set(values.to)
    elseif receivers > 0 then
      pinfo.cols.dst:set(receivers .. (receivers == 1 and " receiver" or " receivers"))
    else
      pinfo.cols.dst:set("bus")
    end
  else
    pinfo.cols.src:set("bus")
  end
  pinfo.cols.info:set(state.carried and state.carried.text or state.text)
  return tvb:len()
end

DissectorTable.get("wtap_encap"):add((wtap_encaps or wtap).USER0, tribune)
