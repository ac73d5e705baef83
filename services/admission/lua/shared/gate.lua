-- Time and the gate token. The arguments of every script begin with the run id of the server that
-- the connection shook hands with, and the clock offset in milliseconds (0 outside tests).

-- Integers up to 2^53 as text: Lua's own conversion writes 1e+15, and '%.0f' costs three times as
-- much. '%d' takes them as a C long: the connection uses 64-bit servers only.
local function int(number)
  return string.format('%d', number)
end

local function redis_now()
  local seconds, micros = unpack(redis.call('TIME'))
  return seconds * 1000 + math.floor(micros / 1000) + tonumber(ARGV[RUN.clock_offset])
end

-- Of the bucket of this key: token, state ('open' or 'restoring'), whether billing has caught up
-- since ('1'), and since when; nil when the gate was lost: no token, or one that another run of the
-- server left behind.
local function gate_token(key)
  local run_id = ARGV[RUN.run_id]
  local gate = redis.call('GET', key)
  if not gate or string.sub(gate, 1, #run_id) ~= run_id then
    return nil
  end
  local token_end = string.find(gate, ' ', #run_id + 1, true)
  local state_end = string.find(gate, ' ', token_end + 1, true)
  local since_end = string.find(gate, ' ', state_end + 1, true)
  return string.sub(gate, 1, token_end - 1), string.sub(gate, token_end + 1, state_end - 1),
    string.sub(gate, since_end + 1), string.sub(gate, state_end + 1, since_end - 1)
end

-- The random end of a token, which no other token of the bucket has. Accounts and keys are marked
-- with it, so that their fields stay short.
local MARK_CHARS = 12
local function mark_of(token)
  return string.sub(token, -MARK_CHARS)
end

-- Billing has settled all that was stored before the token was set.
local function note_caught_up(key, token, state, since)
  redis.call('SET', key, token .. ' ' .. state .. ' ' .. since .. ' 1')
end
