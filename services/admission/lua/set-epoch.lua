#!lua flags=allow-oom
-- uses: epoch
-- The epoch of a bucket (docs/protocol.md#r12). restore sets one if the bucket has none. open opens
-- the bucket under the named epoch.
--
-- Replies {state, now, epoch, since}
local epoch_key = KEYS[KEY.epoch]
local action, wanted = ARGV[SET_EPOCH.action], ARGV[SET_EPOCH.epoch]
local now = redis_now()
local epoch, state, caught_up, since = read_epoch(epoch_key)
if not epoch then
  if action ~= 'restore' then
    return { 'lost', int(now) }
  end
  redis.call('SET', epoch_key, wanted .. ' restoring ' .. int(now) .. ' 0')
  return { 'restoring', int(now), wanted, int(now) }
end
if action == 'open' and epoch == wanted and state == 'restoring' then
  redis.call('SET', epoch_key, epoch .. ' open ' .. since .. ' ' .. caught_up)
  state = 'open'
end
return { state, int(now), epoch, since }
