-- Implements the Redis commands that the limit store's scripts call, over plain tables. Keys never
-- expire: a run is shorter than every expiry that the scripts set.

-- The data of servers by name. `main` is in use. `file` is the copy that a restart reads.
-- `superseded` still answers some replicas after a failover.
local servers = { main = {} }
local selected, database = 'main', servers.main
local now_ms = 0
local commands = {}
local unpack = table.unpack

local function read(key)
  return database[key] or {}
end

local function sorted_names(map)
  local names = {}
  for name in pairs(map) do
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

function commands.TIME()
  return { tostring(now_ms // 1000), tostring(now_ms % 1000 * 1000) }
end

function commands.GET(key)
  return database[key] or false
end

function commands.SET(key, value)
  database[key] = tostring(value)
  return { ok = 'OK' }
end

function commands.INCR(key)
  local count = tonumber(database[key] or '0') + 1
  database[key] = tostring(count)
  return count
end

function commands.EXPIRE(key)
  return database[key] and 1 or 0
end

function commands.HGET(key, field)
  return read(key)[field] or false
end

function commands.HEXISTS(key, field)
  return read(key)[field] and 1 or 0
end

function commands.HMGET(key, ...)
  local hash, values = read(key), {}
  for index, field in ipairs({ ... }) do
    values[index] = hash[field] or false
  end
  return values
end

function commands.HSET(key, ...)
  local hash, items = read(key), { ... }
  database[key] = hash
  for index = 1, #items, 2 do
    hash[items[index]] = tostring(items[index + 1])
  end
  return #items // 2
end

function commands.HDEL(key, ...)
  local hash, deleted = read(key), 0
  for _, field in ipairs({ ... }) do
    deleted = deleted + (hash[field] and 1 or 0)
    hash[field] = nil
  end
  if next(hash) == nil then
    database[key] = nil
  end
  return deleted
end

function commands.HKEYS(key)
  return sorted_names(read(key))
end

function commands.HLEN(key)
  return #sorted_names(read(key))
end

function commands.HGETALL(key)
  local hash, fields = read(key), {}
  for _, name in ipairs(sorted_names(hash)) do
    fields[#fields + 1] = name
    fields[#fields + 1] = hash[name]
  end
  return fields
end

function commands.ZADD(key, ...)
  local set, items = read(key), { ... }
  database[key] = set
  for index = 1, #items, 2 do
    set[items[index + 1]] = tonumber(items[index])
  end
  return #items // 2
end

commands.ZCARD, commands.ZREM = commands.HLEN, commands.HDEL

-- Supports only the form that the sweeps use: from the lowest score up to `highest`, with a limit.
function commands.ZRANGEBYSCORE(key, _, highest, _, _, limit)
  local set, members = read(key), {}
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

-- Returns the whole set in one step. In a pattern, `*` matches any text.
function commands.ZSCAN(key, _, _, pattern)
  local found = {}
  local expression = '^' .. string.gsub(string.gsub(pattern, '[^%w*]', '%%%0'), '%*', '.*') .. '$'
  for _, member in ipairs(sorted_names(read(key))) do
    if string.find(member, expression) then
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
  return table.concat(commands.HGETALL(key), '\1')
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
  return database[key] or ''
end

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

-- All other functions use the selected server.
function select_server(name)
  selected, database = name, servers[name]
end

-- Replaces the data of a server by a copy of another one's. One without data is empty.
function copy_data(from, to)
  servers[to] = copy(servers[from] or {})
  database = servers[selected]
end

function begin_anew()
  servers = { main = {} }
  select_server('main')
  collectgarbage()
end
