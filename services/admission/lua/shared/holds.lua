-- Holds and the sums that they count in. A hold is one field of h:<account>. A shape is the part
-- that many holds share. Held sums, slots and shape references are fields of a:<account>. They
-- change only here and in admit, together with the hold. The slot in a hold's text is 1, 0, or 2.
-- The value 2 means that an operator took the slot back: no heartbeat takes it again, and the call
-- must be ended.

local GONE_MS = 90000

-- Parses a hold. All fields stay texts: most of them are written again unchanged, and converting
-- them to numbers and back would be more expensive than everything else.
local function parse_hold(text)
  local state, shape, admitted, worst, plan_max, wallet_max, session, amount, slot, lease, due, tries, edge =
    string.match(text, '^(%a) (%S+) (%d+) (%d+) (%d+) (%-?%d+) (%d+) (%d+) (%d) (%d+) (%d+) (%d+) (%S+)$')
  if not state then
    return { state = 'g' }
  end
  return {
    state = state, shape = shape, admitted = admitted, worst = worst, plan_max = plan_max, wallet_max = wallet_max,
    session = session, amount = amount, slot = slot, lease = lease, due = due, tries = tries, edge = edge,
  }
end

local function hold_text(hold)
  return table.concat({
    hold.state, hold.shape, hold.admitted, hold.worst, hold.plan_max, hold.wallet_max, hold.session, hold.amount, hold.slot,
    hold.lease, hold.due, hold.tries, hold.edge,
  }, ' ')
end

-- Returns the sums that a hold adds to: the wallet, the months of key and member, and windows and
-- allotments in USD. A done hold counts its amount, split like in the ledger (plan up to plan_max,
-- then the wallet up to wallet_max; -1: unlimited; then the plan again). In USD an open hold counts
-- as 0 on windows, because counting worst cases would lock out paying users. The plan's part of the
-- worst case is summed separately and compared near the end of a window.
local function held_by(hold)
  local is_done = hold.state == 'd'
  local amount = tonumber(is_done and hold.amount or hold.worst)
  if hold.wallet_max == '-1' then
    return amount, amount, 0, 0
  end
  local wallet_max = tonumber(hold.wallet_max)
  if not is_done then
    return wallet_max, amount, 0, amount - wallet_max
  end
  local wallet = math.min(math.max(0, amount - tonumber(hold.plan_max)), wallet_max)
  return wallet, amount, amount - wallet, 0
end

-- Adds to the sums that a hold counts in. Deletes a sum that becomes 0, except for the slots. If
-- the shape's references change, returns their new number.
local function adjust(account_key, hold, shape_text, wallet, amount, plan, count, slot, reference, bears)
  local fields, deltas, size = {}, {}, 0
  local function add(field, delta)
    if delta ~= 0 then
      size = size + 1
      fields[size], deltas[size] = field, delta
    end
  end
  -- Adds to the sums that are named in one line of a shape. The session's balance is named by its
  -- start, which the shape does not contain.
  local function add_named(from, to, unit, delta)
    if delta ~= 0 and to >= from then
      for name in string.gmatch(string.sub(shape_text, from, to), '%S+') do
        add('h:' .. (name == 'session' and 'w:session_5h:' .. unit .. ':' .. hold.session or name), delta)
      end
    end
  end
  if reference ~= 0 then
    add('c:' .. hold.shape, reference)
  end
  add('n', slot)
  add('h:wallet', wallet)
  add('h:plan', bears or 0)
  if amount ~= 0 or plan ~= 0 or count ~= 0 then
    local first = string.find(shape_text, '\n', 1, true)
    local second = string.find(shape_text, '\n', first + 1, true)
    if amount ~= 0 then
      -- The months of key and member.
      local between = string.find(shape_text, ' ', 1, true)
      add('h:' .. string.sub(shape_text, 1, between - 1), amount)
      add('h:' .. string.sub(shape_text, between + 1, first - 1), amount)
    end
    add_named(first + 1, second - 1, 'requests', count)
    if plan ~= 0 then
      add_named(second + 1, string.find(shape_text, '\n', second + 1, true) - 1, 'usd', plan)
    end
    if count ~= 0 and hold.session ~= '0' then
      add('h:session:' .. hold.session, count)
    end
  end
  if size == 0 then
    return
  end
  local values = redis.call('HMGET', account_key, unpack(fields))
  local set, zero = {}, {}
  local references
  for index, field in ipairs(fields) do
    local value = add_exactly(values[index], deltas[index])
    -- A hold from a release without this sum would subtract an amount that was never added.
    if field == 'h:plan' and string.sub(value, 1, 1) == '-' then
      value = '0'
    end
    if index == 1 then
      references = tonumber(value)
    end
    if value == '0' and field ~= 'n' then
      zero[#zero + 1] = field
    else
      set[#set + 1] = field
      set[#set + 1] = value
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

-- Extends the life of an account. An unused account expires after IDLE_SECONDS. Admissions,
-- heartbeats, loads and sweeps extend this if the last extension (field x) is at least a day old,
-- so an account with a hold never expires.
local function keep(account_key, renewed_at, now)
  if renewed_at and now - tonumber(renewed_at) < STAMP_MS then
    return
  end
  if redis.call('EXPIRE', account_key, IDLE_SECONDS) == 1 then
    redis.call('HSET', account_key, 'x', int(now))
  end
end

-- Reads a hold's shape, which is stored once for all holds that share it.
local function shape_of(hold_key, hold)
  return redis.call('HGET', hold_key, 's:' .. hold.shape)
end

local function create_hold(due_key, account_key, hold_key, member, id, hold, shape_text, due, now)
  local wallet, amount, plan, bears = held_by(hold)
  adjust(account_key, hold, shape_text, wallet, amount, plan, 1, tonumber(hold.slot), 1, bears)
  redis.call('HSET', hold_key, id, hold_text(hold), 's:' .. hold.shape, shape_text)
  redis.call('ZADD', due_key, int(due), member)
  local renewed_at, open_session, latest = unpack(redis.call('HMGET', account_key, 'x', 'ss', 'lt'))
  keep(account_key, renewed_at, now)
  local session = tonumber(hold.session)
  -- Time never goes back within an account, so an ended session stays ended.
  if session > tonumber(open_session or 0) and session + SESSION_MS > math.max(now, tonumber(latest or 0)) then
    redis.call('HSET', account_key, 'ss', hold.session)
  end
end

-- Closes a session that was opened for calls without any charge, as if it had never been opened
-- (docs/behaviour.md#windows).
local function close_unused_session(account_key, start)
  local open_session, held, usd, requests = unpack(redis.call(
    'HMGET', account_key, 'ss', 'h:session:' .. start, 'v:w:session_5h:usd:' .. start, 'v:w:session_5h:requests:' .. start
  ))
  local used = (tonumber(usd or 0) or 0) + (tonumber(requests or 0) or 0)
  if open_session == start and not held and used == 0 then
    redis.call('HDEL', account_key, 'ss')
  end
end

-- Ends a hold, which then counts as 0. Its tombstone prevents a late admission or heartbeat from
-- creating it again.
local function end_hold(due_key, unsettled_key, account_key, hold_key, member, id, hold, shape_text, now)
  local wallet, amount, plan, bears = held_by(hold)
  local slot = hold.slot == '1' and -1 or 0
  if adjust(account_key, hold, shape_text, -wallet, -amount, -plan, -1, slot, -1, -bears) <= 0 then
    redis.call('HDEL', hold_key, 's:' .. hold.shape)
  end
  if hold.session ~= '0' then
    close_unused_session(account_key, hold.session)
  end
  if hold.state == 'd' and hold.tries ~= '0' then
    redis.call('ZREM', unsettled_key, member)
  end
  local gone_at = tonumber(hold.admitted) + GONE_MS
  if now < gone_at then
    redis.call('HSET', hold_key, id, 'g')
    redis.call('ZADD', due_key, int(gone_at), member)
  else
    redis.call('HDEL', hold_key, id)
    redis.call('ZREM', due_key, member)
  end
end
