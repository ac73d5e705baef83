#!lua flags=allow-oom
-- uses: gate holds
-- What the owners say of one account: records, rows, terms, closed ids (money and failure, rules 8, 10, 11). Each part is
-- written if it is newer, loaded or not; rows come first, then the closed ids.
--
-- KEYS  tok, due, a:<account>, h:<account>
-- ARGV  3 account, 4 prefix of key records (k:), 5 incarnation ('' none),
--       6 token of a load ('' no load), 7 start of the load, 8 '1' the account is complete, 9 '1' billing has caught up,
--       10 account state ('' none), 11 its version, 12 terms version ('' none), 13 terms,
--       14 rows, 15 members, 16 keys, 17 closed ids; then row name, value, version; member, cap, version;
--       key, version, record; ids
local LOAD_MS = 5000

local now = redis_now()
local token, state, caught_up, since = gate_token()
if not token then
  return { 'lost', int(now) }
end
local account_key, hold_key = KEYS[3], KEYS[4]
local loading = ARGV[6] ~= ''
if loading and (ARGV[6] ~= token or now - tonumber(ARGV[7]) > LOAD_MS) then
  return { 'void', int(now) }
end
local existed = redis.call('EXISTS', account_key) == 1

-- What is known of everything that is named, in one call, and what is newer, written together: a row costs no calls of its
-- own. Nothing below reads these fields again before write_news.
local ROWS = tonumber(ARGV[14])
local FIELDS_MAX = 1000
local known_fields = { 'in', 'g', 'sv', 'tv', 'ss' }
for row = 0, ROWS - 1 do
  known_fields[#known_fields + 1] = 'u:' .. ARGV[18 + row * 3]
end
local versions = {}
local function read_known()
  for from = 1, #known_fields, FIELDS_MAX do
    local until_field = math.min(from + FIELDS_MAX - 1, #known_fields)
    local values = redis.call('HMGET', account_key, unpack(known_fields, from, until_field))
    for index = from, until_field do
      versions[known_fields[index]] = values[index - from + 1]
    end
  end
end
read_known()

local news = {}
local function write_news()
  if #news > 0 then
    redis.call('HSET', account_key, unpack(news))
    news = {}
  end
end
local function put(field, value)
  if #news >= FIELDS_MAX then
    write_news()
  end
  news[#news + 1] = field
  news[#news + 1] = value
end

-- Another incarnation of the ledger counts versions anew, and rows that another gate left behind may lack what was settled
-- since (a server restarted from its file, a copy that was promoted): what was known is asked again (rules 12, 17).
local other_ledger = versions['in'] ~= ARGV[5]
if ARGV[5] ~= '' and (other_ledger or versions['g'] ~= token) then
  if versions['in'] then
    local stale = other_ledger and { 't', 'tv', 'tt', 'ss' } or { 't' }
    for _, field in ipairs(redis.call('HKEYS', account_key)) do
      local kind = string.sub(field, 1, 2)
      if kind == 'v:' or kind == 'u:' then
        stale[#stale + 1] = field
      end
    end
    for from = 1, #stale, FIELDS_MAX do
      redis.call('HDEL', account_key, unpack(stale, from, math.min(from + FIELDS_MAX - 1, #stale)))
    end
    read_known()
  end
  put('in', ARGV[5])
  put('g', token)
end

local function newer(field, version)
  local known = versions[field]
  if known and tonumber(version) <= tonumber(known) then
    return false
  end
  versions[field] = version
  return true
end

if ARGV[10] ~= '' and newer('sv', ARGV[11]) then
  put('s', ARGV[10])
  put('sv', ARGV[11])
end
if ARGV[12] ~= '' and newer('tv', ARGV[12]) then
  put('tv', ARGV[12])
  put('tt', ARGV[13])
end

local at = 18
local session = tonumber(versions['ss'] or 0)
for _ = 1, ROWS do
  local name, value, version = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  if newer('u:' .. name, version) then
    put('v:' .. name, value)
    put('u:' .. name, version)
    local start = tonumber(string.match(name, '^w:session_5h:%a+:(%d+)$') or '')
    -- Of two that have not ended the later one is open: the one before it was closed unused, and billed late.
    if start and start + SESSION_MS > now and start > session and (tonumber(value) or 0) > 0 then
      session = start
      put('ss', int(start))
    end
  end
  at = at + 3
end
write_news()
for _ = 1, tonumber(ARGV[15]) do
  local known = redis.call('HGET', account_key, 'mv:' .. ARGV[at])
  if not known or tonumber(ARGV[at + 2]) > tonumber(known) then
    redis.call('HSET', account_key, 'mc:' .. ARGV[at], ARGV[at + 1], 'mv:' .. ARGV[at], ARGV[at + 2])
  end
  at = at + 3
end
for _ = 1, tonumber(ARGV[16]) do
  local key = ARGV[4] .. ARGV[at]
  local known = redis.call('HGET', key, 'v')
  if not known or tonumber(ARGV[at + 1]) > tonumber(known) then
    redis.call('HSET', key, 'v', ARGV[at + 1], 'j', ARGV[at + 2])
  end
  if loading then
    redis.call('HSET', key, 't', token)
  end
  redis.call('EXPIRE', key, KEY_SECONDS)
  at = at + 3
end

if loading and ARGV[8] == '1' then
  if not redis.call('HGET', account_key, 'tv') then
    redis.call('HSET', account_key, 'tv', '0')
  end
  redis.call('HSET', account_key, 't', token, 'at', ARGV[7])
end
if loading and ARGV[9] == '1' and caught_up ~= '1' then
  redis.call('SET', KEYS[1], token .. ' ' .. state .. ' ' .. since .. ' 1')
end

for _ = 1, tonumber(ARGV[17]) do
  local id = ARGV[at]
  local known = redis.call('HGET', hold_key, id)
  if known then
    local hold = parse_hold(known)
    if hold.state ~= 'g' then
      end_hold(account_key, hold_key, ARGV[3] .. '|' .. id, id, hold, shape_of(hold_key, hold), now)
    end
  end
  at = at + 1
end
if loading or not existed then
  keep_while_held(account_key, hold_key)
end
return { 'applied', int(now), token }
