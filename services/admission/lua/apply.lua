#!lua flags=allow-oom
-- uses: epoch spans amounts holds ended-rows
-- Applies changes to one account from its owners: records, balances, terms, closed IDs
-- (docs/protocol.md#r8, docs/protocol.md#r10, docs/protocol.md#r11). Each part is written if it is
-- newer, whether the account is loaded or not. Balances are written before IDs are closed.
local RECORD_SECONDS = 7776000

local epoch_key, due_key, unsettled_key = KEYS[KEY.epoch], KEYS[KEY.due], KEYS[KEY.unsettled]
local account_key, hold_key = KEYS[KEY.account], KEYS[KEY.holds]
local records_prefix, texts_prefix = KEYS[KEY.key_record], KEYS[KEY.texts]
local account, ledger_epoch = ARGV[APPLY.account], ARGV[APPLY.ledger_epoch]
local load_epoch, load_start, is_complete = ARGV[APPLY.load_epoch], ARGV[APPLY.load_start], ARGV[APPLY.is_complete] == '1'
local has_caught_up, account_version = ARGV[APPLY.caught_up] == '1', ARGV[APPLY.account_version]
local account_state, state_version = ARGV[APPLY.account_state], ARGV[APPLY.state_version]
local terms_version, text_id, terms_text, periods = unpack(ARGV, APPLY.terms_version, APPLY.periods)
local may_wait = ARGV[APPLY.may_wait] == '1'
local rows, members = tonumber(ARGV[APPLY.rows]), tonumber(ARGV[APPLY.members])
local records, closed = tonumber(ARGV[APPLY.keys]), tonumber(ARGV[APPLY.closed])
-- The start of each list: its first entry follows this position.
local rows_at = APPLY.size
local members_at = rows_at + rows * RECORD.size
local records_at = members_at + members * RECORD.size
local closed_at = records_at + records * RECORD.size

local now = redis_now()
local epoch, state, caught_up, since = read_epoch(epoch_key)
if not epoch then
  return { 'lost', int(now) }
end
local suffix = suffix_of(epoch)
local loading = load_epoch ~= ''
if loading and (load_epoch ~= epoch or now - tonumber(load_start) > LOAD_MS) then
  return { 'void', int(now) }
end

-- Reads the known versions of all named items in one command, and writes the newer ones together,
-- so that a balance causes no command by itself. The code below does not read these fields again
-- before write_news.
local FIELDS_MAX = 1000
local known_fields = { 'in', 'g', 't', 'at', 'lv', 'av', 'sv', 'tv', 'tt', 'ss', 'x', 'lt' }
local function add_known_fields(prefix, from, count)
  for at = from, from + (count - 1) * RECORD.size, RECORD.size do
    known_fields[#known_fields + 1] = prefix .. ARGV[at + RECORD.name]
  end
end
add_known_fields('u:', rows_at, rows)
add_known_fields('m:', members_at, members)
add_known_fields('k:', records_at, records)
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

-- A late message from an earlier ledger epoch may lack changes that were settled since, or contain
-- changes that were lost (docs/protocol.md#r17).
if ledger_epoch ~= '' and ledger_epoch < (versions['in'] or '') then
  return { 'outdated', int(now) }
end

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

-- Another ledger epoch restarts the versions. Balances from an earlier limit store (a server that
-- restarted from its file, or a promoted copy) may lack charges that were settled since. In both
-- cases all balances must be loaded again (docs/protocol.md#r12, docs/protocol.md#r17).
local other_ledger = versions['in'] ~= ledger_epoch
local completes = loading and is_complete
if ledger_epoch ~= '' and (other_ledger or (versions['g'] ~= suffix and versions['t'] ~= suffix)) then
  if versions['in'] then
    local stale = other_ledger and { 't', 'av', 'tv', 'tt', 'tp', 'tn', 'ss' } or { 't' }
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
  put('in', ledger_epoch)
  if not completes then
    put('g', suffix)
  end
end

-- Each change of balances has the account's next version. So a snapshot that skips a version has
-- passed an older one: it contains charges whose holds the older one ends (docs/protocol.md#r8).
local loaded_version = versions['t'] == suffix and tonumber(versions['lv']) or -1
local newest, applied = 0, math.max(loaded_version, tonumber(versions['av'] or 0))
for at = rows_at, members_at - 1, RECORD.size do
  newest = math.max(newest, tonumber(ARGV[at + RECORD.version]))
end
if may_wait and loaded_version >= 0 and newest > applied + 1 then
  return { 'early', int(now) }
end
if not loading and newest > applied then
  put('av', int(newest))
end

local function newer(field, version)
  local known = versions[field]
  if known and tonumber(version) <= tonumber(known) then
    return false
  end
  versions[field] = version
  return true
end

if account_state ~= '' and newer('sv', state_version) then
  put('s', account_state)
  put('sv', state_version)
end
-- Terms and key records are stored in separate keys as texts, which are read only when a process
-- has not cached them. A text that has expired or was lost is written again for its own version,
-- never for an older one.
local function put_record(record_key, is_newer, is_same, text)
  if is_newer or (is_same and redis.call('EXPIRE', record_key, RECORD_SECONDS) == 0) then
    redis.call('SET', record_key, text, 'EX', RECORD_SECONDS)
  end
end
if terms_version ~= '' then
  local is_newer = newer('tv', terms_version)
  local is_same = terms_version == versions['tv']
  put_record(texts_prefix .. text_id, is_newer, is_same, terms_text)
  -- Another release may write the same terms in another form, and its text may have expired.
  if is_newer or (loading and is_same and text_id ~= versions['tt']) then
    put('tv', terms_version)
    put('tt', text_id)
    -- The periods are in separate fields, because a field of an account is at most 64 bytes long.
    local period, next_period = string.match(periods, '^([^|]*)|?(.*)$')
    put('tp', period)
    put('tn', next_period)
  end
end

local session = tonumber(versions['ss'] or 0)
-- Time never goes back within an account, so an ended session stays ended.
local account_now = math.max(now, tonumber(versions['lt'] or 0))
-- A message with older data than the last load creates no balance: a balance that does not exist
-- here may have been settled to a newer value since. It is loaded when it is needed
-- (docs/protocol.md#r13).
local load_is_late = loading and (tonumber(account_version) or loaded_version) < loaded_version
for at = rows_at, members_at - 1, RECORD.size do
  local name, value, version = ARGV[at + RECORD.name], ARGV[at + RECORD.content], ARGV[at + RECORD.version]
  local is_late = load_is_late or (not loading and tonumber(version) <= loaded_version)
  if (versions['u:' .. name] or not is_late) and newer('u:' .. name, version) then
    put('v:' .. name, value)
    put('u:' .. name, version)
    local start = tonumber(string.match(name, '^w:session_5h:%a+:(%d+)$') or '')
    -- Of two sessions that have not ended, the later one is open. The earlier one was closed as
    -- unused and billed late.
    if start and start + SESSION_MS > account_now and start > session and (tonumber(value) or 0) > 0 then
      session = start
      put('ss', int(start))
    end
  end
end
for at = members_at, records_at - 1, RECORD.size do
  -- A member's field: the version of its cap, and the cap if there is one.
  local field, cap, version = 'm:' .. ARGV[at + RECORD.name], ARGV[at + RECORD.content], ARGV[at + RECORD.version]
  local known = string.match(versions[field] or '', '^%d+')
  if not known or tonumber(version) > tonumber(known) then
    versions[field] = cap == '' and version or (version .. ' ' .. cap)
    put(field, versions[field])
  end
end
-- A key's field: the epoch suffix of the key's load ('-': not loaded), and its version.
for at = records_at, closed_at - 1, RECORD.size do
  local key, record, version = ARGV[at + RECORD.name], ARGV[at + RECORD.content], ARGV[at + RECORD.version]
  local field = 'k:' .. key
  local known_suffix, known_version = string.match(versions[field] or '', '^(%S+) (%S+)$')
  local is_newer = not known_version or tonumber(version) > tonumber(known_version)
  put_record(records_prefix .. key, is_newer, version == known_version, record)
  local text = (loading and suffix or known_suffix or '-') .. ' ' .. (is_newer and version or known_version)
  if text ~= versions[field] then
    versions[field] = text
    put(field, text)
  end
end
-- Balances that the first complete load does not contain and that are not newer than it were
-- written by late snapshots into a limit store that was lost. They must be loaded again too.
local function forget_unnamed(version)
  local named = {}
  for at = rows_at, members_at - 1, RECORD.size do
    named['v:' .. ARGV[at + RECORD.name]] = true
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
  if versions['t'] ~= suffix then
    forget_unnamed(tonumber(account_version))
    put('lv', account_version)
  end
  if not versions['tv'] then
    put('tv', '0')
  end
  put('at', versions['t'] == suffix and int(math.max(tonumber(versions['at']), tonumber(load_start))) or load_start)
  put('t', suffix)
end
write_news()
if completes and versions['g'] then
  redis.call('HDEL', account_key, 'g')
end
if loading and has_caught_up and caught_up ~= '1' then
  note_caught_up(epoch_key, epoch, state, since)
end

for at = closed_at + 1, closed_at + closed do
  local id = ARGV[at]
  local known = redis.call('HGET', hold_key, id)
  if known then
    local hold = parse_hold(known)
    if hold.state ~= 'g' then
      end_hold(due_key, unsettled_key, account_key, hold_key, account .. '|' .. id, id, hold, shape_of(hold_key, hold), now)
    end
  end
end
-- Deletes the balances of ended periods once a day (docs/protocol.md#r13). The account then counts
-- as loaded now, with the versions of the deleted balances: a missing balance is loaded instead of
-- starting at 0, and a message that is not newer than a deleted balance creates none.
local function drop_ended()
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
if not loading and rows > 0 and versions['t'] == suffix and account_now - tonumber(versions['at']) >= DROP_ENDED_MS then
  drop_ended()
end
keep(account_key, versions['x'], now)
return { 'applied', int(now), epoch }
