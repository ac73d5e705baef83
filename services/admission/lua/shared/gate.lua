-- Time and the gate token. Every script has: KEYS[1] = tok, KEYS[2] = due; ARGV[1] = run id of the server that the
-- connection shook hands with, ARGV[2] = clock offset in milliseconds (0 outside tests).

-- Integers up to 2^53 as text: Lua's own conversion writes 1e+15.
local function int(number)
  return string.format('%.0f', number)
end

local function redis_now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[2])
end

-- Token, state ('open' or 'restoring'), whether billing has caught up since ('1'), and since when; nil when the gate was
-- lost: no token, or one that another run of the server left behind.
local function gate_token()
  local gate = redis.call('GET', KEYS[1])
  if not gate or string.sub(gate, 1, #ARGV[1]) ~= ARGV[1] then
    return nil
  end
  local token, state, since, caught_up = string.match(gate, '^(%S+) (%S+) (%S+) (%S+)$')
  return token, state, caught_up, since
end
