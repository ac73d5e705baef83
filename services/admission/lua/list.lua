#!lua flags=no-writes
-- uses: gate
-- Calls of one bucket that have not ended, one step of a scan: the set of due times is the only list that there is. What is
-- in it from the first step to the last is found, whatever its due time does meanwhile.
--
-- KEYS  tok, due
-- ARGV  3 prefix of holds (h:), 4 cursor of the scan ('0' begins), 5 pattern of <account>|<id>, 6 entries of the step
-- Replies {state, now, token, next cursor ('0': that was all), then account, id, hold, shape of each}
local now = redis_now()
local token, state = gate_token()
if not token then
  return { 'lost', int(now) }
end
if state ~= 'open' then
  return { 'restoring', int(now), token }
end
local step = redis.call('ZSCAN', KEYS[2], ARGV[4], 'MATCH', ARGV[5], 'COUNT', ARGV[6])
local reply = { 'open', int(now), token, step[1] }
for index = 1, #step[2], 2 do
  local account, id = string.match(step[2][index], '^([^|]*)|(.*)$')
  local hold_key = ARGV[3] .. account
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
