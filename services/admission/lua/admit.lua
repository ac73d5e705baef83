#!lua
-- uses: epoch spans amounts
-- Makes one decision (docs/protocol.md#r2; docs/behaviour.md#order-of-refusals). All checks come
-- before all writes, because Lua has no rollback. The script may not run when Redis is out of
-- memory: that is a fault, and never leaves a half-made hold.
--
-- Replies: see src/admit/admit-script.ts
local MINUTE_MS = 60000
local MINUTE_KEY_SECONDS = 120
local ID_SKEW_MS = 30000
-- Maximum share of a USD window that is left near its end.
local NEAR_END_SHARE = 0.05

local due_key, account_key, hold_key = KEYS[KEY.due], KEYS[KEY.account], KEYS[KEY.holds]
local record_key, texts_prefix = KEYS[KEY.key_record], KEYS[KEY.texts]
local mode, is_counted, account, id = ARGV[ADMIT.mode], ARGV[ADMIT.is_counted] == '1', ARGV[ADMIT.account], ARGV[ADMIT.id]
local id_time, valid_from, valid_until = tonumber(ARGV[ADMIT.id_time]), ARGV[ADMIT.valid_from], ARGV[ADMIT.valid_until]
local key_version, known_terms_version = ARGV[ADMIT.key_version], ARGV[ADMIT.terms_version]
local key_refusal, fact_refusal, funding = ARGV[ADMIT.key_refusal], ARGV[ADMIT.fact_refusal], ARGV[ADMIT.funding]
local minute_prefix, requests_per_minute = ARGV[ADMIT.minute_prefix], ARGV[ADMIT.requests_per_minute]
local concurrency, worst_text, least_text = ARGV[ADMIT.concurrency], ARGV[ADMIT.worst], ARGV[ADMIT.least]
local shape, shape_text, edge = ARGV[ADMIT.shape], ARGV[ADMIT.shape_text], ARGV[ADMIT.edge]
local lease_ms, expiry_ms = ARGV[ADMIT.lease_ms], ARGV[ADMIT.expiry_ms]
local month_start, key_cap_text = ARGV[ADMIT.month_start], ARGV[ADMIT.key_cap]
local key_row, member_row = ARGV[ADMIT.key_month_row], ARGV[ADMIT.member_month_row]
local allotment_text, session_limits, windows_count = ARGV[ADMIT.allotment], ARGV[ADMIT.session], tonumber(ARGV[ADMIT.windows])
local now = redis_now()
local epoch, state, caught_up = read_epoch(KEYS[KEY.epoch])
if not epoch then
  return { 'lost', int(now) }
end
if state ~= 'open' then
  return { 'restoring', int(now) }
end
if math.abs(now - id_time) > ID_SKEW_MS then
  return { 'late', int(now) }
end

-- Reads all fields for the decision in one command. The names follow the order of the fields.
local fields = redis.call(
  'HMGET', account_key, 't', 'at', 's', 'n', 'tv', 'ss', 'lt', 'x', 'v:wallet', 'h:wallet', 'h:plan',
  unpack(ARGV, ADMIT.size + windows_count + 1)
)
local loaded_under, loaded_at, account_state, slots, terms_version, open_session, latest, renewed_at,
  wallet_text, wallet_held, plan_held, loaded_key, references, member, key_month_text, key_held, member_month_text, member_held =
  unpack(fields, 1, ADMIT_FIELD.size)
local suffix = suffix_of(epoch)
if loaded_under ~= suffix or loaded_key ~= suffix .. ' ' .. key_version or terms_version ~= known_terms_version then
  -- The account is not loaded under this epoch, or its versions differ from those of the caller,
  -- which receives the current ones.
  local lacks_account = loaded_under ~= suffix
  local lacks_key = string.match(loaded_key or '', '^%S+') ~= suffix
  local record = not lacks_key and redis.call('GET', record_key)
  local terms, periods = '', ''
  if terms_version ~= '0' and not lacks_account then
    local text_id, period, next_period = unpack(redis.call('HMGET', account_key, 'tt', 'tp', 'tn'))
    periods = (period or '') .. '|' .. (next_period or '')
    terms = redis.call('GET', texts_prefix .. (text_id or ''))
  end
  lacks_account, lacks_key = lacks_account or not terms, lacks_key or not record
  if lacks_account or lacks_key then
    return { 'load', int(now), epoch, caught_up, lacks_account and '1' or '0', lacks_key and '1' or '0', '' }
  end
  return { 'know', int(now), record, terms_version, terms, periods }
end
-- Time never goes back within an account.
now = math.max(now, tonumber(latest or 0))
if now < tonumber(valid_from) or now >= tonumber(valid_until) then
  return { 'clock', int(now) }
end
loaded_at = tonumber(loaded_at)
slots = tonumber(slots or 0)

-- A retry of the same ID: reads its hold, and whether the ID is counted in a minute without a hold.
local counted_field = 'm:' .. id
local known, is_noted = unpack(redis.call('HMGET', hold_key, id, counted_field))
if known and mode ~= 'count' then
  local known_shape = string.match(known, '^o (%S+) ')
  if known_shape then
    return { 'repeated', int(now), epoch, known, redis.call('HGET', hold_key, 's:' .. known_shape) }
  end
  return { 'gone', int(now) }
end

-- Balances of periods. If the period began after the account was loaded, a missing balance starts
-- at
-- 0. Any other missing balance must be loaded (docs/protocol.md#r13).
local missing = {}
local function settled(value, name, period_start)
  if value then
    return tonumber(value) or 0
  end
  if tonumber(period_start) <= loaded_at then
    missing[#missing + 1] = name
  end
  return 0
end

local plan_funded = funding == 'plan'
local member_cap = member and tonumber(string.match(member, ' (%d+)$'))
local key_month, member_month = 0, 0
local windows, session, session_holds = {}, 0, 0
local allotment = nil
if mode == 'admit' then
  if key_cap_text ~= '' then
    key_month = settled(key_month_text, key_row, month_start)
  end
  if member_cap then
    member_month = settled(member_month_text, member_row, month_start)
  end
  if plan_funded then
    for index = 1, windows_count do
      local unit, limit, start, resets, row = string.match(ARGV[ADMIT.size + index], '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
      local value, held = unpack(fields, ADMIT_FIELD.size + index * 2 - 1, ADMIT_FIELD.size + index * 2)
      windows[index] = {
        index = index, usd = unit == 'usd', limit = tonumber(limit), resets = tonumber(resets),
        used = settled(value, row, start), running = tonumber(held or 0), field = 'h:' .. row,
      }
    end
    if allotment_text ~= '' then
      local unit, limit, start, resets, row = string.match(allotment_text, '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
      local held_at = ADMIT_FIELD.size + windows_count * 2
      local value, held = unpack(fields, held_at + 1, held_at + 2)
      allotment = {
        usd = unit == 'usd', limit = tonumber(limit), resets = tonumber(resets),
        used = settled(value, row, start), running = tonumber(held or 0), field = 'h:' .. row,
      }
    end
    if session_limits ~= '' then
      session = tonumber(open_session or 0)
      local opens = session + SESSION_MS <= now
      local holds, usd_value, requests_value, usd_held, requests_held
      if opens then
        session = now
      else
        local row = 'w:session_5h:%s:' .. int(session)
        local usd, requests = string.format(row, 'usd'), string.format(row, 'requests')
        holds, usd_value, requests_value, usd_held, requests_held = unpack(redis.call(
          'HMGET', account_key, 'h:session:' .. int(session), 'v:' .. usd, 'v:' .. requests, 'h:' .. usd, 'h:' .. requests
        ))
        session_holds = tonumber(holds or 0)
      end
      for unit, limit in string.gmatch(session_limits, '(%S+) (%S+)') do
        local row = 'w:session_5h:' .. unit .. ':' .. int(session)
        local value, held = requests_value, requests_held
        if unit == 'usd' then
          value, held = usd_value, usd_held
        end
        if not opens and not value and session <= loaded_at then
          missing[#missing + 1] = row
        end
        windows[#windows + 1] = {
          index = 0, usd = unit == 'usd', limit = tonumber(limit), resets = session + SESSION_MS,
          used = tonumber(value or 0) or 0, running = tonumber(held or 0), field = 'h:' .. row,
        }
      end
    end
  end
  if #missing > 0 then
    return { 'load', int(now), epoch, caught_up, '0', '0', table.concat(missing, ' ') }
  end
end

-- The refusals in their order, by code. Those that follow from the catalog, the key's record or the
-- request are arguments.
local took_minute = false
-- Stores the ID of a call without a hold until the ID expires, so that a retry takes no second
-- place in a minute. There are at most as many such IDs as calls that fit into the minutes.
local function note_counted()
  if took_minute then
    redis.call('HSET', hold_key, counted_field, '1')
    redis.call('ZADD', due_key, int(id_time + ID_SKEW_MS + 1), account .. '|' .. counted_field)
  end
end
local function refused(code, ...)
  note_counted()
  return { 'refused', int(now), epoch, code, ... }
end

if key_refusal ~= '' then
  return refused(key_refusal)
end
if account_state ~= 'active' then
  return refused('account_suspended')
end
if not is_counted and not is_noted then
  local minute = minute_prefix .. int(math.floor(now / MINUTE_MS))
  local count = redis.call('INCR', minute)
  if count == 1 then
    redis.call('EXPIRE', minute, MINUTE_KEY_SECONDS)
  end
  if count > tonumber(requests_per_minute) then
    return refused('rate_limited')
  end
  took_minute = true
end
if fact_refusal ~= '' then
  return refused(fact_refusal)
end
if mode == 'open' then
  note_counted()
  return { 'opened', int(now), epoch }
end

local wallet = tonumber(wallet_text or 0) or 0
if wallet < 0 then
  return refused('outstanding_debt', int(wallet))
end
if wallet == 0 and funding == 'none' then
  return refused('no_funding', int(wallet))
end
if wallet == 0 and not plan_funded then
  return refused('tier_permission_denied', int(wallet))
end
if mode == 'count' then
  note_counted()
  return { 'counted', int(now), epoch }
end

if slots >= tonumber(concurrency) then
  return refused('concurrency_limit', int(slots))
end

-- In requests, running calls count. In USD, the cost of unsettled ended calls counts.
local used_up = nil
for _, window in ipairs(windows) do
  if window.used + window.running >= window.limit and (not used_up or window.resets > used_up.resets) then
    used_up = window
  end
end
if used_up then
  return refused(
    'window_exhausted', int(used_up.index), used_up.usd and 'usd' or 'requests', int(used_up.limit), int(used_up.used),
    int(used_up.running), int(used_up.resets)
  )
end
-- Near the end of a USD window the running calls may use the rest, so only one call at a time may
-- begin (docs/behaviour.md#windows).
local held_plan = tonumber(plan_held or 0)
local nearly_used_up = nil
for _, window in ipairs(windows) do
  local left = window.limit - window.used - window.running
  local is_near = window.usd and left <= window.limit * NEAR_END_SHARE and held_plan > left
  if is_near and (not nearly_used_up or window.resets > nearly_used_up.resets) then
    nearly_used_up = window
  end
end
if nearly_used_up then
  return refused(
    'concurrency_limit', int(slots), int(nearly_used_up.index), int(nearly_used_up.limit), int(nearly_used_up.used),
    int(nearly_used_up.running)
  )
end
if allotment and allotment.used + allotment.running >= allotment.limit then
  return refused(
    'model_limit_reached', allotment.usd and 'usd' or 'requests', int(allotment.limit), int(allotment.used), int(allotment.running),
    int(allotment.resets)
  )
end

local worst, least = tonumber(worst_text), tonumber(least_text)
local held_wallet = tonumber(wallet_held or 0)
local available = wallet - held_wallet
local plan_max, wallet_max, wallet_hold, plan_bears = 0, -1, worst, 0
if plan_funded then
  plan_max = AMOUNT_MAX
  for _, window in ipairs(windows) do
    if window.usd then
      plan_max = math.min(plan_max, window.limit - window.used - window.running)
    end
  end
  local spendable = math.max(0, available)
  if plan_max + spendable < least then
    return refused('insufficient_credits', int(available), int(held_wallet))
  end
  wallet_max = math.min(math.max(0, worst - plan_max), spendable)
  wallet_hold = wallet_max
  plan_bears = worst - wallet_max
elseif available < worst then
  return refused('insufficient_credits', int(available), int(held_wallet))
end

-- Without a cap no comparison takes place, and a sum may be too large for an exact double. A cap is
-- always exact, so the comparison is still correct. The reported sum is limited to the largest
-- amount.
local held_key, held_member = tonumber(key_held or 0), tonumber(member_held or 0)
if member_cap and member_month + held_member + worst > member_cap then
  return refused('member_cap_reached', int(member_cap), int(member_month), int(math.min(held_member, AMOUNT_MAX)))
end
local key_cap = tonumber(key_cap_text)
if key_cap and key_month + held_key + worst > key_cap then
  return refused('monthly_spend_cap_exceeded', int(key_cap), int(key_month), int(math.min(held_key, AMOUNT_MAX)))
end

local now_text = int(now)
local lease, due = now + tonumber(lease_ms), now + tonumber(expiry_ms)
local lease_text, due_text = int(lease), int(due)
local plan_max_text, wallet_max_text, session_text = '0', '-1', '0'
local set = { 'n', int(slots + 1), 'lt', now_text, 'c:' .. shape, int(tonumber(references or 0) + 1) }
local function put(field, value)
  set[#set + 1] = field
  set[#set + 1] = value
end
-- Sums of 0 are not stored, because no script would delete them.
if wallet_hold ~= 0 then
  put('h:wallet', int(held_wallet + wallet_hold))
end
if plan_bears ~= 0 then
  put('h:plan', add_exactly(plan_held, plan_bears))
end
if worst ~= 0 then
  put('h:' .. key_row, add_exactly(key_held, worst))
  put('h:' .. member_row, add_exactly(member_held, worst))
end
-- See keep in shared/holds.lua.
local is_renewed = not renewed_at or now - tonumber(renewed_at) >= STAMP_MS
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
    if open_session and open_session ~= session_text then
      -- The settled use of the previous session is no longer needed.
      redis.call(
        'HDEL', account_key, 'v:w:session_5h:usd:' .. open_session, 'u:w:session_5h:usd:' .. open_session,
        'v:w:session_5h:requests:' .. open_session, 'u:w:session_5h:requests:' .. open_session
      )
    end
  end
end
local hold = table.concat({
  'o', shape, now_text, worst_text, plan_max_text, wallet_max_text, session_text, '0', '1', lease_text, due_text, '0', edge,
}, ' ')
if references then
  redis.call('HSET', hold_key, id, hold)
else
  redis.call('HSET', hold_key, id, hold, 's:' .. shape, shape_text)
end
redis.call('HSET', account_key, unpack(set))
redis.call('ZADD', due_key, math.min(lease, due) == lease and lease_text or due_text, account .. '|' .. id)
if is_renewed then
  redis.call('EXPIRE', account_key, IDLE_SECONDS)
end
-- Number of further calls with the same worst case that would fit now. The slot and the worst case
-- of this call stay taken until its release.
local room_left = tonumber(concurrency) - slots - 1
if wallet_hold > 0 then
  room_left = math.min(room_left, math.floor((available - wallet_hold) / wallet_hold))
end
if held_plan + plan_bears > plan_max and plan_bears > 0 then
  room_left = 0
end
if member_cap and worst > 0 then
  room_left = math.min(room_left, math.floor((member_cap - member_month - held_member) / worst) - 1)
end
if key_cap and worst > 0 then
  room_left = math.min(room_left, math.floor((key_cap - key_month - held_key) / worst) - 1)
end
return { 'admitted', now_text, epoch, now_text, plan_max_text, wallet_max_text, session_text, int(room_left) }
