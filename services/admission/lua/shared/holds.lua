-- Holds and what they count in. A hold is one field of h:<account>; held sums, slots and shape references are fields of
-- a:<account> and change only here and in admit, together with the hold. The place of the slot in a hold's text is 1, 0, or
-- 2: an operator took it back, so that no beat takes it again and the call is to be ended.

local SESSION_MS = 18000000
local GONE_MS = 90000
local IDLE_SECONDS = 604800
local KEY_SECONDS = 7776000

local function parse_hold(text)
  local state, shape, admitted, worst, plan_max, wallet_max, session, amount, slot, lease, due, tries, edge =
    string.match(text, '^(%a) (%S+) (%d+) (%d+) (%d+) (%-?%d+) (%d+) (%d+) (%d) (%d+) (%d+) (%d+) (%S+)$')
  if not state then
    return { state = 'g' }
  end
  return {
    state = state,
    shape = shape,
    admitted = tonumber(admitted),
    worst = tonumber(worst),
    plan_max = tonumber(plan_max),
    wallet_max = tonumber(wallet_max),
    session = tonumber(session),
    amount = tonumber(amount),
    slot = slot == '1' and 1 or 0,
    taken_back = slot == '2',
    lease = tonumber(lease),
    due = tonumber(due),
    tries = tonumber(tries),
    edge = edge,
  }
end

local function hold_text(hold)
  return table.concat({
    hold.state, hold.shape, int(hold.admitted), int(hold.worst), int(hold.plan_max), int(hold.wallet_max),
    int(hold.session), int(hold.amount), hold.taken_back and '2' or int(hold.slot), int(hold.lease), int(hold.due),
    int(hold.tries), hold.edge,
  }, ' ')
end

-- What the hold sets aside: of the wallet, of the months of key and member, and of windows and allotments in USD. A done
-- hold counts its amount, split as the ledger will split it (plan up to plan_max, then the wallet up to wallet_max; -1: no
-- bound; then the plan again). In USD an open one counts nothing: a worst case on windows would lock paying users out.
local function held_by(hold)
  local amount = hold.worst
  if hold.state == 'd' then
    amount = hold.amount
  end
  if hold.wallet_max < 0 then
    return amount, amount, 0
  end
  if hold.state ~= 'd' then
    return hold.wallet_max, amount, 0
  end
  local wallet = math.min(math.max(0, amount - hold.plan_max), hold.wallet_max)
  return wallet, amount, amount - wallet
end

-- Adds to the sums that a hold counts in; a sum that becomes 0 is deleted. Returns the references left to its shape.
local function adjust(account_key, hold, shape_text, wallet, amount, plan, count, slot, reference)
  local fields = { 'c:' .. hold.shape, 'n', 'h:wallet' }
  local deltas = { reference, slot, wallet }
  local amounts, counts, usd = string.match(shape_text, '^([^\n]*)\n([^\n]*)\n([^\n]*)\n')
  for name in string.gmatch(amounts, '%S+') do
    fields[#fields + 1] = 'h:' .. name
    deltas[#fields] = amount
  end
  for name in string.gmatch(counts, '%S+') do
    -- The row of a session is named by its start, which a shape does not know.
    fields[#fields + 1] = 'h:' .. (name == 'session' and 'w:session_5h:requests:' .. int(hold.session) or name)
    deltas[#fields] = count
  end
  if plan ~= 0 then
    for name in string.gmatch(usd, '%S+') do
      fields[#fields + 1] = 'h:' .. (name == 'session' and 'w:session_5h:usd:' .. int(hold.session) or name)
      deltas[#fields] = plan
    end
  end
  if hold.session > 0 then
    fields[#fields + 1] = 'h:session:' .. int(hold.session)
    deltas[#fields] = count
  end
  local values = redis.call('HMGET', account_key, unpack(fields))
  local set, zero = {}, {}
  local references = 0
  for index, field in ipairs(fields) do
    local value = (tonumber(values[index] or 0) or 0) + deltas[index]
    if index == 1 then
      references = value
    end
    if value == 0 then
      zero[#zero + 1] = field
    elseif deltas[index] ~= 0 then
      set[#set + 1] = field
      set[#set + 1] = int(value)
    end
  end
  if #set > 0 then
    redis.call('HSET', account_key, unpack(set))
  end
  if #zero > 0 then
    redis.call('HDEL', account_key, unpack(zero))
  end
  return references
end

-- An account without holds may be forgotten after IDLE_SECONDS; while it has one it must not be.
local function keep_while_held(account_key, hold_key)
  if redis.call('EXISTS', hold_key) == 1 then
    if redis.call('HDEL', account_key, 'x') == 1 then
      redis.call('PERSIST', account_key)
    end
  elseif redis.call('EXPIRE', account_key, IDLE_SECONDS) == 1 then
    redis.call('HSET', account_key, 'x', '1')
  end
end

-- The shape of a hold lies once beside the holds that have it.
local function shape_of(hold_key, hold)
  return redis.call('HGET', hold_key, 's:' .. hold.shape)
end

local function create_hold(account_key, hold_key, member, id, hold, shape_text, due, now)
  local wallet, amount, plan = held_by(hold)
  adjust(account_key, hold, shape_text, wallet, amount, plan, 1, hold.slot, 1)
  redis.call('HSET', hold_key, id, hold_text(hold), 's:' .. hold.shape, shape_text)
  redis.call('ZADD', KEYS[2], int(due), member)
  keep_while_held(account_key, hold_key)
  if hold.session > 0 and hold.session + SESSION_MS > now then
    if hold.session > tonumber(redis.call('HGET', account_key, 'ss') or 0) then
      redis.call('HSET', account_key, 'ss', int(hold.session))
    end
  end
end

-- A session that was opened for calls of which none was billed was never opened (behaviour, Money).
local function close_unused_session(account_key, session)
  local start = int(session)
  local values = redis.call(
    'HMGET', account_key, 'ss', 'h:session:' .. start, 'v:w:session_5h:usd:' .. start, 'v:w:session_5h:requests:' .. start
  )
  local used = (tonumber(values[3] or 0) or 0) + (tonumber(values[4] or 0) or 0)
  if values[1] == start and not values[2] and used == 0 then
    redis.call('HDEL', account_key, 'ss')
  end
end

-- The hold counts nothing any more. Its tombstone keeps a late admission or beat from making it anew.
local function end_hold(account_key, hold_key, member, id, hold, shape_text, now)
  local wallet, amount, plan = held_by(hold)
  if adjust(account_key, hold, shape_text, -wallet, -amount, -plan, -1, -hold.slot, -1) <= 0 then
    redis.call('HDEL', hold_key, 's:' .. hold.shape)
  end
  if hold.session > 0 then
    close_unused_session(account_key, hold.session)
  end
  if now < hold.admitted + GONE_MS then
    redis.call('HSET', hold_key, id, 'g')
    redis.call('ZADD', KEYS[2], int(hold.admitted + GONE_MS), member)
  else
    redis.call('HDEL', hold_key, id)
    redis.call('ZREM', KEYS[2], member)
    keep_while_held(account_key, hold_key)
  end
end
