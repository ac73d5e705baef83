#!lua flags=allow-oom
-- uses: gate
-- The epoch of a bucket (docs/protocol.md#r12).
--
-- KEYS  tok, due
-- ARGV  3 'restore' or 'open', 4 the token to set, or the token to open
-- Replies {state, now, token, since}
local now = redis_now()
local token, state, caught_up, since = gate_token()
if ARGV[3] == 'restore' and not token then
  redis.call('SET', KEYS[1], ARGV[4] .. ' restoring ' .. int(now) .. ' 0')
  return { 'restoring', int(now), ARGV[4], int(now) }
end
if not token then
  return { 'lost', int(now) }
end
if ARGV[3] == 'open' and token == ARGV[4] and state == 'restoring' then
  redis.call('SET', KEYS[1], token .. ' open ' .. since .. ' ' .. caught_up)
  state = 'open'
end
return { state, int(now), token, since }
