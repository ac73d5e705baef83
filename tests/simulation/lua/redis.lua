-- Implements the Redis commands that the limit store's scripts call, over plain tables. Keys never
-- expire: a run is shorter than every expiry that the scripts set.
local database = {}
local now_ms = 0
local commands = {}
local unpack = table.unpack

local function value_of(key)
  return database[key]
end

local function made(key)
  local value = database[key]
  if not value then
    value = {}
    database[key] = value
  end
  return value
end

local function drop_empty(key)
  if type(database[key]) == 'table' and next(database[key]) == nil then
    database[key] = nil
  end
end

function commands.TIME()
  return { tostring(now_ms // 1000), tostring(now_ms % 1000 * 1000) }
end

function commands.GET(key)
  return value_of(key) or false
end

function commands.SET(key, value)
  database[key] = tostring(value)
  return { ok = 'OK' }
end

function commands.INCR(key)
  local count = tonumber(value_of(key) or '0') + 1
  database[key] = tostring(count)
  return count
end

function commands.EXISTS(key)
  return value_of(key) and 1 or 0
end

function commands.EXPIRE(key)
  return value_of(key) and 1 or 0
end

function commands.PERSIST(key)
  return value_of(key) and 1 or 0
end

function commands.HGET(key, field)
  local hash = value_of(key)
  return hash and hash[field] or false
end

function commands.HEXISTS(key, field)
  local hash = value_of(key)
  return hash and hash[field] and 1 or 0
end

function commands.HMGET(key, ...)
  local hash = value_of(key) or {}
  local values = {}
  for index, field in ipairs({ ... }) do
    values[index] = hash[field] or false
  end
  return values
end

function commands.HSET(key, ...)
  local hash = made(key)
  local items = { ... }
  for index = 1, #items, 2 do
    hash[items[index]] = tostring(items[index + 1])
  end
  return #items // 2
end

function commands.HDEL(key, ...)
  local hash = value_of(key)
  if not hash then
    return 0
  end
  local deleted = 0
  for _, field in ipairs({ ... }) do
    if hash[field] then
      deleted = deleted + 1
      hash[field] = nil
    end
  end
  drop_empty(key)
  return deleted
end

local function sorted_names(map)
  local names = {}
  for name in pairs(map or {}) do
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

function commands.HKEYS(key)
  return sorted_names(value_of(key))
end

function commands.HLEN(key)
  return #sorted_names(value_of(key))
end

function commands.HGETALL(key)
  local hash, fields = value_of(key) or {}, {}
  for _, name in ipairs(sorted_names(hash)) do
    fields[#fields + 1] = name
    fields[#fields + 1] = hash[name]
  end
  return fields
end

function commands.ZADD(key, ...)
  local set = made(key)
  local items = { ... }
  for index = 1, #items, 2 do
    set[items[index + 1]] = tonumber(items[index])
  end
  return #items // 2
end

function commands.ZCARD(key)
  local size = 0
  for _ in pairs(value_of(key) or {}) do
    size = size + 1
  end
  return size
end

function commands.ZREM(key, ...)
  local set = value_of(key) or {}
  local removed = 0
  for _, member in ipairs({ ... }) do
    removed = removed + (set[member] and 1 or 0)
    set[member] = nil
  end
  drop_empty(key)
  return removed
end

-- Supports only the form that the sweeps use: from the lowest score up to `highest`, with a limit.
function commands.ZRANGEBYSCORE(key, _, highest, _, _, limit)
  local set = value_of(key) or {}
  local members = {}
  for member, score in pairs(set) do
    if score <= tonumber(highest) then
      members[#members + 1] = member
    end
  end
  table.sort(members, function(one, other)
    if set[one] ~= set[other] then
      return set[one] < set[other]
    end
    return one < other
  end)
  return { unpack(members, 1, math.min(#members, limit)) }
end

-- Returns the whole set in one step. A pattern is `*`, or a text with `*` at one of its ends.
function commands.ZSCAN(key, _, _, pattern)
  local found = {}
  local first, last = string.sub(pattern, 1, 1) == '*', string.sub(pattern, -1) == '*'
  local text = string.sub(pattern, first and 2 or 1, last and -2 or -1)
  for _, member in ipairs(sorted_names(value_of(key))) do
    local at = string.find(member, text, 1, true)
    if at and (first or at == 1) and (last or at + #text - 1 == #member) then
      found[#found + 1] = member
      found[#found + 1] = '0'
    end
  end
  return { '0', found }
end

local environment = setmetatable({
  unpack = unpack,
  redis = {
    call = function(name, ...)
      return commands[name](...)
    end,
  },
}, { __index = _G })
local scripts = {}

function install_script(name, text)
  local body = string.gsub(text, '^#![^\n]*', '', 1)
  scripts[name] = assert(load(body, name, 't', environment))
end

-- Runs a script. The payload is one string. Each text in it is followed by \1: the script's name,
-- the time, the number of keys, the keys, the arguments. \2 represents a Redis nil reply. One
-- string is used because a call from JavaScript into Lua costs more than splitting.
function run_script(payload)
  local texts = {}
  for text in string.gmatch(payload, '([^\1]*)\1') do
    texts[#texts + 1] = text
  end
  now_ms = tonumber(texts[2])
  local first = 4 + tonumber(texts[3])
  environment.KEYS = { unpack(texts, 4, first - 1) }
  environment.ARGV = { unpack(texts, first) }
  local reply = scripts[texts[1]]()
  for index = 1, #reply do
    reply[index] = reply[index] or '\2'
  end
  return table.concat(reply, '\1')
end

-- Returns the fields of a hash, sorted by name, as alternating names and values.
function dump_hash(key)
  local parts = {}
  local hash = value_of(key)
  for _, field in ipairs(sorted_names(hash)) do
    parts[#parts + 1] = field
    parts[#parts + 1] = hash[field]
  end
  return table.concat(parts, '\1')
end

-- Returns the account keys in order.
function list_accounts()
  local keys = {}
  for _, key in ipairs(sorted_names(database)) do
    if string.find(key, '^{%d+}a:') then
      keys[#keys + 1] = key
    end
  end
  return table.concat(keys, '\1')
end

function dump_text(key)
  return value_of(key) or ''
end

local kept = {}

local function copy(value)
  if type(value) ~= 'table' then
    return value
  end
  local copied = {}
  for name, part in pairs(value) do
    copied[name] = copy(part)
  end
  return copied
end

-- Saves a copy, like the server's file on disk.
function keep_copy()
  kept = copy(database)
end

function take_copy_back()
  database = copy(kept)
end

-- Data of a superseded server that still answers some replicas.
local superseded = {}

function split_off()
  superseded = copy(database)
end

function swap_superseded()
  database, superseded = superseded, database
end

function flush()
  database = {}
end

function begin_anew()
  database, kept, superseded = {}, {}, {}
  collectgarbage()
end
