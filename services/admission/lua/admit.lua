#!lua
-- uses: gate spans amounts
-- One decision (docs/protocol.md#r2; docs/behaviour.md#order-of-refusals). Checks first, writes
-- last: Lua has no rollback. Not allowed when Redis is out of memory: a refusal to run is a fault,
-- never a half-made hold.
--
-- KEYS  tok, due, a:<account>, h:<account>, k:<key>, prefix of texts (s:)
-- ARGV  see src/domain/admit-script.ts, which also reads the replies.
local MINUTE_MS = 60000
local MINUTE_KEY_SECONDS = 120
local ID_SKEW_MS = 30000

local mode, id, shape, shape_text = ARGV[3], ARGV[6], ARGV[20], ARGV[21]
local now = redis_now()
local token, state, caught_up = gate_token()
if not token then
  return { 'lost', int(now) }
end
if state ~= 'open' then
  return { 'restoring', int(now) }
end
if math.abs(now - tonumber(ARGV[7])) > ID_SKEW_MS then
  return { 'late', int(now) }
end

-- Everything that the decision reads, in one call.
local WINDOWS = tonumber(ARGV[29])
local FIELDS = 32 + WINDOWS
local account = redis.call(
  'HMGET', KEYS[3], 't', 'at', 's', 'n', 'tv', 'ss', 'lt', 'x', 'v:wallet', 'h:wallet', unpack(ARGV, FIELDS, #ARGV)
)
local loaded_at, account_state, slots, terms_version = account[2], account[3], account[4], account[5]
local mark = mark_of(token)
if account[1] ~= mark or account[11] ~= mark .. ' ' .. ARGV[10] or terms_version ~= ARGV[11] then
  -- Not loaded under this token, or other versions than the caller knows: it learns those that are here.
  local lacks_account = account[1] ~= mark
  local lacks_key = string.match(account[11] or '', '^%S+') ~= mark
  local record = not lacks_key and redis.call('GET', KEYS[5])
  local terms, period = '', ''
  if terms_version ~= '0' and not lacks_account then
    local text_id, next_period
    text_id, period, next_period = unpack(redis.call('HMGET', KEYS[3], 'tt', 'tp', 'tn'))
    period = (period or '') .. '|' .. (next_period or '')
    terms = redis.call('GET', KEYS[6] .. (text_id or ''))
  end
  lacks_account, lacks_key = lacks_account or not terms, lacks_key or not record
  if lacks_account or lacks_key then
    return { 'load', int(now), token, caught_up, lacks_account and '1' or '0', lacks_key and '1' or '0', '' }
  end
  return { 'know', int(now), record, terms_version, terms, period }
end
-- Within an account time never goes back.
now = math.max(now, tonumber(account[7] or 0))
if now < tonumber(ARGV[8]) or now >= tonumber(ARGV[9]) then
  return { 'clock', int(now) }
end
loaded_at = tonumber(loaded_at)
slots = tonumber(slots or 0)

-- Another try of the same id: its hold, and whether it has its place in a minute without one.
local counted_field = 'm:' .. id
local known, is_counted = unpack(redis.call('HMGET', KEYS[4], id, counted_field))
if known and mode ~= 'count' then
  local known_shape = string.match(known, '^o (%S+) ')
  if known_shape then
    return { 'repeated', int(now), token, known, redis.call('HGET', KEYS[4], 's:' .. known_shape) }
  end
  return { 'gone', int(now) }
end

-- Rows of periods. One that began after the account was loaded starts at 0; any other missing one
-- is loaded (docs/protocol.md#r13).
local missing = {}
local function settled(index, name, period_start)
  local value = account[index]
  if value then
    return tonumber(value) or 0
  end
  if tonumber(period_start) <= loaded_at then
    missing[#missing + 1] = name
  end
  return 0
end

local plan_funded = ARGV[16] == 'plan'
local member_cap = account[13] and tonumber(string.match(account[13], ' (%d+)$'))
local key_month, member_month = 0, 0
local windows, session, session_holds = {}, 0, 0
local allotment = nil
if mode == 'admit' then
  if ARGV[26] ~= '' then
    key_month = settled(14, ARGV[27], ARGV[25])
  end
  if member_cap then
    member_month = settled(16, ARGV[28], ARGV[25])
  end
  if plan_funded then
    for index = 1, WINDOWS do
      local unit, limit, start, resets, row = string.match(ARGV[29 + index], '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
      local at = 18 + (index - 1) * 2
      windows[index] = {
        index = index, usd = unit == 'usd', limit = tonumber(limit), resets = tonumber(resets),
        used = settled(at, row, start), running = tonumber(account[at + 1] or 0), field = 'h:' .. row,
      }
    end
    if ARGV[30 + WINDOWS] ~= '' then
      local unit, limit, start, resets, row = string.match(ARGV[30 + WINDOWS], '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
      local at = 18 + WINDOWS * 2
      allotment = {
        usd = unit == 'usd', limit = tonumber(limit), resets = tonumber(resets),
        used = settled(at, row, start), running = tonumber(account[at + 1] or 0), field = 'h:' .. row,
      }
    end
    if ARGV[31 + WINDOWS] ~= '' then
      session = tonumber(account[6] or 0)
      local opens = session + SESSION_MS <= now
      local known = {}
      if opens then
        session = now
      else
        local row = 'w:session_5h:%s:' .. int(session)
        local usd, requests = string.format(row, 'usd'), string.format(row, 'requests')
        known = redis.call(
          'HMGET', KEYS[3], 'h:session:' .. int(session), 'v:' .. usd, 'v:' .. requests, 'h:' .. usd, 'h:' .. requests
        )
        session_holds = tonumber(known[1] or 0)
      end
      for unit, limit in string.gmatch(ARGV[31 + WINDOWS], '(%S+) (%S+)') do
        local row = 'w:session_5h:' .. unit .. ':' .. int(session)
        local at = unit == 'usd' and 2 or 3
        local value = known[at]
        if not opens and not value and session <= loaded_at then
          missing[#missing + 1] = row
        end
        windows[#windows + 1] = {
          index = 0, usd = unit == 'usd', limit = tonumber(limit), resets = session + SESSION_MS,
          used = tonumber(value or 0) or 0, running = tonumber(known[at + 2] or 0), field = 'h:' .. row,
        }
      end
    end
  end
  if #missing > 0 then
    return { 'load', int(now), token, caught_up, '0', '0', table.concat(missing, ' ') }
  end
end

-- The list of refusals. Rows that need the catalog, the key's record or the request come as arguments.
local took_minute = false
-- What leaves no hold behind leaves its id, for as long as the id is taken: another try takes no second place in a minute. There
-- are at most as many as fit into the minutes.
local function note_counted()
  if took_minute then
    redis.call('HSET', KEYS[4], counted_field, '1')
    redis.call('ZADD', KEYS[2], int(tonumber(ARGV[7]) + ID_SKEW_MS + 1), ARGV[5] .. '|' .. counted_field)
  end
end
local function refused(row, ...)
  note_counted()
  return { 'refused', int(now), token, int(row), ... }
end

if ARGV[12] ~= '0' then
  return refused(ARGV[12])
end
if account_state ~= 'active' then
  return refused(REFUSAL.account_suspended, 'account')
end
if ARGV[4] == '0' and not is_counted then
  local minute = ARGV[13] .. int(math.floor(now / MINUTE_MS))
  local count = redis.call('INCR', minute)
  if count == 1 then
    redis.call('EXPIRE', minute, MINUTE_KEY_SECONDS)
  end
  if count > tonumber(ARGV[14]) then
    return refused(REFUSAL.rate_limited)
  end
  took_minute = true
end
if ARGV[15] ~= '0' then
  return refused(ARGV[15])
end
if mode == 'open' then
  note_counted()
  return { 'opened', int(now), token }
end

local wallet = tonumber(account[9] or 0) or 0
if wallet < 0 then
  return refused(REFUSAL.outstanding_debt, int(wallet))
end
if wallet == 0 and ARGV[16] == 'none' then
  return refused(REFUSAL.no_funding, int(wallet))
end
if wallet == 0 and not plan_funded then
  return refused(REFUSAL.tier_permission_denied, int(wallet))
end
if mode == 'count' then
  note_counted()
  return { 'counted', int(now), token }
end

if slots >= tonumber(ARGV[17]) then
  return refused(REFUSAL.concurrency_limit, int(slots))
end

-- In requests, calls that run count with those that ended; in USD, what ended calls cost that are not settled yet.
local used_up = nil
for _, window in ipairs(windows) do
  if window.used + window.running >= window.limit and (not used_up or window.resets > used_up.resets) then
    used_up = window
  end
end
if used_up then
  return refused(
    REFUSAL.window_exhausted, int(used_up.index), used_up.usd and 'usd' or 'requests', int(used_up.limit), int(used_up.used),
    int(used_up.running), int(used_up.resets)
  )
end
if allotment and allotment.used + allotment.running >= allotment.limit then
  return refused(
    REFUSAL.model_limit_reached, allotment.usd and 'usd' or 'requests', int(allotment.limit), int(allotment.used), int(allotment.running),
    int(allotment.resets)
  )
end

local worst, least = tonumber(ARGV[18]), tonumber(ARGV[19])
local held_wallet = tonumber(account[10] or 0)
local available = wallet - held_wallet
local plan_max, wallet_max, wallet_hold = 0, -1, worst
if plan_funded then
  plan_max = AMOUNT_MAX
  for _, window in ipairs(windows) do
    if window.usd then
      plan_max = math.min(plan_max, window.limit - window.used - window.running)
    end
  end
  local spendable = math.max(0, available)
  if plan_max + spendable < least then
    return refused(REFUSAL.insufficient_credits, int(available), int(held_wallet))
  end
  wallet_max = math.min(math.max(0, worst - plan_max), spendable)
  wallet_hold = wallet_max
elseif available < worst then
  return refused(REFUSAL.insufficient_credits, int(available), int(held_wallet))
end

-- Without a cap nothing is compared, and the sums may be beyond what a double holds exactly. A cap never is, so that the
-- comparison is right all the same; what is told of such a sum is the largest amount that there is.
local held_key, held_member = tonumber(account[15] or 0), tonumber(account[17] or 0)
if member_cap and member_month + held_member + worst > member_cap then
  return refused(REFUSAL.member_cap_reached, int(member_cap), int(member_month), int(math.min(held_member, AMOUNT_MAX)))
end
local key_cap = tonumber(ARGV[26])
if key_cap and key_month + held_key + worst > key_cap then
  return refused(REFUSAL.monthly_spend_cap_exceeded, int(key_cap), int(key_month), int(math.min(held_key, AMOUNT_MAX)))
end

local now_text = int(now)
local lease, due = now + tonumber(ARGV[23]), now + tonumber(ARGV[24])
local lease_text, due_text = int(lease), int(due)
local plan_max_text, wallet_max_text, session_text = '0', '-1', '0'
local set = { 'n', int(slots + 1), 'lt', now_text, 'c:' .. shape, int(tonumber(account[12] or 0) + 1) }
local function put(field, value)
  set[#set + 1] = field
  set[#set + 1] = value
end
-- Sums that are 0 are absent: nothing would delete them.
if wallet_hold ~= 0 then
  put('h:wallet', int(held_wallet + wallet_hold))
end
if worst ~= 0 then
  put('h:' .. ARGV[27], add_exactly(account[15], worst))
  put('h:' .. ARGV[28], add_exactly(account[17], worst))
end
-- See keep in shared/holds.lua.
local is_renewed = not account[8] or now - tonumber(account[8]) >= STAMP_MS
if is_renewed then
  put('x', now_text)
end
if plan_funded then
  plan_max_text, wallet_max_text, session_text = int(plan_max), int(wallet_max), int(session)
  for _, window in ipairs(windows) do
    if not window.usd then
      put(window.field, int(window.running + 1))
    end
  end
  if allotment and not allotment.usd then
    put(allotment.field, int(allotment.running + 1))
  end
  if session > 0 then
    put('h:session:' .. session_text, int(session_holds + 1))
    put('ss', session_text)
    if account[6] and account[6] ~= session_text then
      -- What the session before it had used is asked for no more.
      redis.call(
        'HDEL', KEYS[3], 'v:w:session_5h:usd:' .. account[6], 'u:w:session_5h:usd:' .. account[6],
        'v:w:session_5h:requests:' .. account[6], 'u:w:session_5h:requests:' .. account[6]
      )
    end
  end
end
local hold = table.concat({
  'o', shape, now_text, ARGV[18], plan_max_text, wallet_max_text, session_text, '0', '1', lease_text, due_text, '0', ARGV[22],
}, ' ')
if account[12] then
  redis.call('HSET', KEYS[4], id, hold)
else
  redis.call('HSET', KEYS[4], id, hold, 's:' .. shape, shape_text)
end
redis.call('HSET', KEYS[3], unpack(set))
redis.call('ZADD', KEYS[2], math.min(lease, due) == lease and lease_text or due_text, ARGV[5] .. '|' .. id)
if is_renewed then
  redis.call('EXPIRE', KEYS[3], IDLE_SECONDS)
end
local slots_left = int(tonumber(ARGV[17]) - slots - 1)
return { 'admitted', now_text, token, now_text, plan_max_text, wallet_max_text, session_text, slots_left }
