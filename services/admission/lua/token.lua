#!lua flags=allow-oom
-- uses: gate
-- The epoch of a bucket (docs/protocol.md#r12). restore sets one if the bucket has none. open opens
-- the bucket under the named epoch.
--
-- Replies {state, now, epoch, since}
local token_key = KEYS[KEY.token]
local action, wanted = ARGV[TOKEN.action], ARGV[TOKEN.token]
local now = redis_now()
local token, state, caught_up, since = gate_token(token_key)
if not token then
  if action ~= 'restore' then
    return { 'lost', int(now) }
  end
  redis.call('SET', token_key, wanted .. ' restoring ' .. int(now) .. ' 0')
  return { 'restoring', int(now), wanted, int(now) }
end
if action == 'open' and token == wanted and state == 'restoring' then
  redis.call('SET', token_key, token .. ' open ' .. since .. ' ' .. caught_up)
  state = 'open'
end
return { state, int(now), token, since }
