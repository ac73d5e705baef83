#!lua flags=no-writes
-- uses: gate
-- Calls of one bucket that have not ended, one step of a scan: the set of due times is the only list
-- that there is. What is in it from the first step to the last is found, whatever its due time does
-- meanwhile. The scan's cursor '0' begins; the pattern is one of <account>|<id>.
--
-- Replies {state, now, token, next cursor ('0': that was all), then account, id, hold, shape of each}
local holds_prefix, cursor = ARGV[LIST.holds], ARGV[LIST.cursor]
local now = redis_now()
local token, state = gate_token(KEYS[KEY.token])
if not token then
  return { 'lost', int(now) }
end
if state ~= 'open' then
  return { 'restoring', int(now), token }
end
local next_cursor, found = unpack(redis.call(
  'ZSCAN', KEYS[KEY.due], cursor, 'MATCH', ARGV[LIST.pattern], 'COUNT', ARGV[LIST.entries_max]
))
local reply = { 'open', int(now), token, next_cursor }
for index = 1, #found, 2 do
  local account, id = string.match(found[index], '^([^|]*)|(.*)$')
  local hold_key = holds_prefix .. account
  local hold = redis.call('HGET', hold_key, id)
  local shape = hold and string.match(hold, '^[ox] (%S+) ')
  if shape then
    reply[#reply + 1] = account
    reply[#reply + 1] = id
    reply[#reply + 1] = hold
    reply[#reply + 1] = redis.call('HGET', hold_key, 's:' .. shape)
  end
end
return reply
