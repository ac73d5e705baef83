#!lua flags=allow-oom
-- uses: gate spans amounts holds ended-rows
-- What the owners say of one account: records, rows, terms, closed ids (docs/protocol.md#r8,
-- docs/protocol.md#r10, docs/protocol.md#r11). Each part is written if it is newer, loaded or not;
-- rows come first, then the closed ids.
--
-- KEYS  tok, due, a:<account>, h:<account>, prefix of texts (s:)
-- ARGV  3 account, 4 prefix of key records (k:), 5 incarnation ('' none),
--       6 token of a load ('' no load), 7 start of the load, 8 '1' the account is complete, 9 '1' billing has caught up,
--       10 version of the account that was read ('' not told), 11 account state ('' none), 12 its version,
--       13 terms version ('' none), 14 id of their text, 15 the text, 16 their period and the next one, 17 rows, 18 members, 19 keys,
--       20 closed ids; then row name, value, version; member, cap, version; key, version, record; ids
local LOAD_MS = 5000
local RECORD_SECONDS = 7776000

local now = redis_now()
local token, state, caught_up, since = gate_token()
if not token then
  return { 'lost', int(now) }
end
local account_key, hold_key = KEYS[3], KEYS[4]
local mark = mark_of(token)
local loading = ARGV[6] ~= ''
if loading and (ARGV[6] ~= token or now - tonumber(ARGV[7]) > LOAD_MS) then
  return { 'void', int(now) }
end

-- What is known of everything that is named, in one call, and what is newer, written together: a row costs no calls of its
-- own. Nothing below reads these fields again before write_news.
local ROWS, MEMBERS, RECORDS = tonumber(ARGV[17]), tonumber(ARGV[18]), tonumber(ARGV[19])
local ROWS_AT = 21
local MEMBERS_AT = ROWS_AT + ROWS * 3
local RECORDS_AT = MEMBERS_AT + MEMBERS * 3
local FIELDS_MAX = 1000
local known_fields = { 'in', 'g', 't', 'at', 'lv', 'sv', 'tv', 'ss', 'x', 'lt' }
local function ask_known(prefix, from, count)
  for at = from, from + (count - 1) * 3, 3 do
    known_fields[#known_fields + 1] = prefix .. ARGV[at]
  end
end
ask_known('u:', ROWS_AT, ROWS)
ask_known('m:', MEMBERS_AT, MEMBERS)
ask_known('k:', RECORDS_AT, RECORDS)
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
-- since (a server restarted from its file, a copy that was promoted): what was known is asked again
-- (docs/protocol.md#r12, docs/protocol.md#r17).
local other_ledger = versions['in'] ~= ARGV[5]
local completes = loading and ARGV[8] == '1'
if ARGV[5] ~= '' and (other_ledger or (versions['g'] ~= mark and versions['t'] ~= mark)) then
  if versions['in'] then
    local stale = other_ledger and { 't', 'tv', 'tt', 'tp', 'tn', 'ss' } or { 't' }
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
  if not completes then
    put('g', mark)
  end
end

local function newer(field, version)
  local known = versions[field]
  if known and tonumber(version) <= tonumber(known) then
    return false
  end
  versions[field] = version
  return true
end

if ARGV[11] ~= '' and newer('sv', ARGV[12]) then
  put('s', ARGV[11])
  put('sv', ARGV[12])
end
-- Terms and key records lie beside the account, as texts that are only read when a process does not know them. One that
-- has expired, or was lost, comes back with its version; an older one never does.
local function put_record(record_key, is_newer, is_same, text)
  if is_newer or (is_same and redis.call('EXPIRE', record_key, RECORD_SECONDS) == 0) then
    redis.call('SET', record_key, text, 'EX', RECORD_SECONDS)
  end
end
if ARGV[13] ~= '' then
  local is_newer = newer('tv', ARGV[13])
  put_record(KEYS[5] .. ARGV[14], is_newer, ARGV[13] == versions['tv'], ARGV[15])
  if is_newer then
    put('tv', ARGV[13])
    put('tt', ARGV[14])
    -- Each in a field of its own: one value of an account is at most 64 bytes long.
    local period, next_period = string.match(ARGV[16], '^([^|]*)|?(.*)$')
    put('tp', period)
    put('tn', next_period)
  end
end

local at = ROWS_AT
local session = tonumber(versions['ss'] or 0)
-- Within an account time never goes back: a session that was over stays over.
local account_now = math.max(now, tonumber(versions['lt'] or 0))
-- What was read before the account was loaded, and comes late, makes no row: what it says of one that is not here may be older
-- than what was settled since. Such a row is asked for when it is needed (docs/protocol.md#r13).
local loaded_version = versions['t'] == mark and tonumber(versions['lv']) or -1
local load_is_late = loading and (tonumber(ARGV[10]) or loaded_version) < loaded_version
for _ = 1, ROWS do
  local name, value, version = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local is_late = load_is_late or (not loading and tonumber(version) <= loaded_version)
  if (versions['u:' .. name] or not is_late) and newer('u:' .. name, version) then
    put('v:' .. name, value)
    put('u:' .. name, version)
    local start = tonumber(string.match(name, '^w:session_5h:%a+:(%d+)$') or '')
    -- Of two that have not ended the later one is open: the one before it was closed unused, and billed late.
    if start and start + SESSION_MS > account_now and start > session and (tonumber(value) or 0) > 0 then
      session = start
      put('ss', int(start))
    end
  end
  at = at + 3
end
for _ = 1, MEMBERS do
  -- A member's field: the version of its cap, and the cap if there is one.
  local field, cap, version = 'm:' .. ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local known = string.match(versions[field] or '', '^%d+')
  if not known or tonumber(version) > tonumber(known) then
    versions[field] = cap == '' and version or (version .. ' ' .. cap)
    put(field, versions[field])
  end
  at = at + 3
end
-- A key's field: the mark under which it was loaded ('-': it was not), and its version.
for _ = 1, RECORDS do
  local field, version = 'k:' .. ARGV[at], ARGV[at + 1]
  local known_mark, known_version = string.match(versions[field] or '', '^(%S+) (%S+)$')
  local is_newer = not known_version or tonumber(version) > tonumber(known_version)
  put_record(ARGV[4] .. ARGV[at], is_newer, version == known_version, ARGV[at + 2])
  local text = (loading and mark or known_mark or '-') .. ' ' .. (is_newer and version or known_version)
  if text ~= versions[field] then
    versions[field] = text
    put(field, text)
  end
  at = at + 3
end
-- Rows that the first whole load does not name, and that are not newer than it, were written by standings that came late to a
-- gate that was lost: they are asked for again too.
local function forget_unnamed(version)
  local named = {}
  for row_at = ROWS_AT, MEMBERS_AT - 3, 3 do
    named['v:' .. ARGV[row_at]] = true
  end
  for _, field in ipairs(redis.call('HKEYS', account_key)) do
    local version_field = 'u:' .. string.sub(field, 3)
    if string.sub(field, 1, 2) == 'v:' and not named[field] then
      if tonumber(redis.call('HGET', account_key, version_field) or 0) <= version then
        redis.call('HDEL', account_key, field, version_field)
      end
    end
  end
end
if completes then
  if versions['t'] ~= mark then
    forget_unnamed(tonumber(ARGV[10]))
    put('lv', ARGV[10])
  end
  if not versions['tv'] then
    put('tv', '0')
  end
  put('at', versions['t'] == mark and int(math.max(tonumber(versions['at']), tonumber(ARGV[7]))) or ARGV[7])
  put('t', mark)
end
write_news()
if completes and versions['g'] then
  redis.call('HDEL', account_key, 'g')
end
if loading and ARGV[9] == '1' and caught_up ~= '1' then
  redis.call('SET', KEYS[1], token .. ' ' .. state .. ' ' .. since .. ' 1')
end

for _ = 1, tonumber(ARGV[20]) do
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
-- Once a day rows of ended periods go (docs/protocol.md#r13). The account is then as one that was loaded now and knows the
-- versions of what went: a row that is not here never starts at 0, it is asked for; and what is not newer than the rows that
-- went makes none.
local function let_go()
  local ended, low, gone = ended_rows(account_key, account_now), loaded_version, {}
  for _, row in ipairs(ended) do
    gone[#gone + 1] = 'v:' .. row
    gone[#gone + 1] = 'u:' .. row
  end
  for from = 1, #gone, FIELDS_MAX do
    local part = { unpack(gone, from, math.min(from + FIELDS_MAX - 1, #gone)) }
    for index, version in ipairs(redis.call('HMGET', account_key, unpack(part))) do
      low = index % 2 == 0 and math.max(low, tonumber(version or low)) or low
    end
    redis.call('HDEL', account_key, unpack(part))
  end
  redis.call('HSET', account_key, 'at', int(account_now), 'lv', int(low))
end
if not loading and ROWS > 0 and versions['t'] == mark and account_now - tonumber(versions['at']) >= LET_GO_MS then
  let_go()
end
keep(account_key, versions['x'], now)
return { 'applied', int(now), token }
