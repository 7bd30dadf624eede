-- SPDX-License-Identifier: Apache-2.0
--
-- A Wireshark dissector for "tribunectl capture": pcapng packets of link type USER0, each with one frame of the
-- protocol (docs/PROTOCOL.md). Most are `traffic` frames, which carry another frame; tribune.kind, tribune.name,
-- tribune.object, tribune.serial … are the carried frame's.
--
--     wireshark -X lua_script:tribune.lua FILE
--
-- Packets are not trusted: each length is checked before use, and a bad packet is marked as malformed
-- (tribune.malformed), after its readable parts.

local tribune = Proto("tribune", "Tribune")

-- The frames' fields, generated from docs/tribune.wire into a file next to this one.
--
-- A field has a name, a type, and for some types the names of values or bits; `of` is its frame or record. Its filter
-- name is `tribune.NAME`, or `tribune.OF.NAME` if it is `own`.
local here = debug.getinfo(1, "S").source:match("^@(.*[/\\])") or ""
local wire = dofile(here .. "tribune-frames.lua")
local kinds, fields_of = wire.kinds, wire.frames
local TRAFFIC = 19

-- The titles of payloads that are not userInfo, by the kind of frame.
local payload_titles = {
  [2] = "Message", [10] = "Reason or value", [11] = "Status", [12] = "Status", [16] = "Policy", [20] = "Why",
  [22] = "Definitions", [25] = "Reason",
}

-- The fields for filters ------------------------------------------------------------------------------------

local registered = {}

local titles = { pid = "PID", uid = "UID", gid = "GID", bus_pid = "PID of the bus" }

local function title(name, unit)
  local words = titles[name] or name:sub(1, 1):upper() .. name:sub(2):gsub("_", " ")
  return unit and words .. " (" .. unit .. ")" or words
end

local function add(name, make, ...)
  registered[name] = registered[name] or make("tribune." .. name, ...)
end

local function register_bits(name, words, bits)
  add(name, ProtoField.uint8, words, base.HEX)
  for bit, word in pairs(bits) do
    add(name .. "." .. word, ProtoField.bool, title(word), 8, nil, bit)
  end
end

local function filter_name(fields, field) return field.own and fields.of .. "." .. field[1] or field[1] end

local function register(fields)
  for _, field in ipairs(fields) do
    local name, kind, detail = filter_name(fields, field), field[2], field[3]
    local words = title(field[1], field.unit)
    if kind == "u16" then add(name, ProtoField.uint16, words, base.DEC, detail)
    elseif kind == "u32" or kind == "numbers" then add(name, ProtoField.uint32, words, base.DEC)
    elseif kind == "u64" or kind == "id" then add(name, ProtoField.uint64, words, base.DEC)
    elseif kind == "i32" then add(name, ProtoField.int32, words, base.DEC)
    elseif kind == "bool" then add(name, ProtoField.bool, words)
    elseif kind == "enum" then add(name, ProtoField.uint8, words, base.DEC, detail)
    elseif kind == "text" or kind == "texts" then add(name, ProtoField.string, words)
    elseif kind == "blob" then add(name, ProtoField.bytes, words)
    elseif kind == "time" then add(name, ProtoField.absolute_time, words, base.UTC)
    elseif kind == "bits" then register_bits(name, words, detail)
    elseif kind == "group" or kind == "records" then register(detail)
    elseif kind == "choice" then
      add(name, ProtoField.uint8, words, base.DEC, detail)
      for _, choice in pairs(field[4]) do register(choice) end
    end
  end
end

local flags = wire.flags
add("length", ProtoField.uint32, "Length", base.DEC)
add("kind", ProtoField.uint8, "Kind", base.DEC, kinds)
register_bits("flags", "Flags", flags)
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
-- The outer header. Plain names are the carried frame's.
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

-- Reads a part of a packet from its front, up to `stop` or the end of the capture.
local Reader = {}
Reader.__index = Reader

local function reader(tvb, start, stop, tree)
  return setmetatable({ tvb = tvb, position = start, stop = stop, tree = tree }, Reader)
end

local function fail(why) error({ why = why }, 0) end

-- A truncated capture is not an error of the packet.
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

-- Control characters would break the line.
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
  -- The year 9999, the limit of systems' calendars.
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

-- A subtree for related fields.
read.group = function(self, name, fields)
  local before, start = self.tree, self.position
  self.tree = before:add(tribune, self.tvb(start, 0), title(name:match("[^.]*$")))
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
    record.tree = self.tree:add(tribune, self.tvb(start, 0), title(name:match("[^.]*$")) .. " " .. index)
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

-- Reads fields in order, and returns their values by name.
read_fields = function(self, fields)
  local values = {}
  if fields.optional and self:left() == 0 then return values end
  for _, field in ipairs(fields) do
    if not field.when or values[field.when[1]] == field.when[2] then
      values[field[1]] = read[field[2]](self, filter_name(fields, field), field[3], field[4])
    end
  end
  return values
end

-- Frames ----------------------------------------------------------------------------------------------------

local function is_text(range)
  local sample = range:len() > 4096 and range:range(0, 4096) or range
  return not sample:raw():find("[%z\1-\8\11\12\14-\31\127]")
end

-- A summary for the packet list.
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
  if word == "error" then return with(values.code, said) end
  if word == "lost" then return with(values.count, "notifications") end
  if word == "post" then return with(values.options, said) end
  if word == "ask" then return with(values.mode, values.flags, said) end
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
  if word == "attach" then return with(values.patterns, values.label) end
  if word == "cancel" or word == "amend" then return with("serial", values.target, said) end
  if word == "awaited" then return with(values.acknowledged, "done,", values.missing, "missing") end
  if word == "done" then return with(values.has_failed and "failed", values.poster, values.post, said) end
  if word == "suspend" then return values.is_suspended and "suspends" or "resumes" end
  if word == "succeed" then return with(values.predecessor, "with", values.received, "received") end
  return with(values.subject, values.what, values.protocol_name, values.options, said)
end

-- Adds one frame, from `start` to `stop`, to `tree`, and returns its summary.
local read_frame

-- Adds the header and the rest of a frame that may be invalid.
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

  -- The parts behind the fields come first, to show the name even if the fields are wrong.
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
      -- Any other error is unforeseen, but the packet caused it.
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
