#!lua flags=allow-oom
-- uses: epoch
-- Sets new epochs for all buckets of a superseded server that is used again (docs/protocol.md#r12).
-- All are set together: new epochs in some buckets would make the data of the other buckets valid
-- too. If another replica has already done this, one epoch has the given time or a later one, and
-- nothing is changed. Keys: the epoch of each bucket.
--
-- Replies {'restoring' or 'replaced', now, newest epoch}
local newest = ''
for _, epoch_key in ipairs(KEYS) do
  local epoch = read_epoch(epoch_key)
  if epoch and epoch > newest then
    newest = epoch
  end
end
local now = redis_now()
local set_at = tonumber(string.match(newest, '%.(%d+)%.')) or 0
if set_at >= tonumber(ARGV[REPLACE.stale_before]) then
  return { 'replaced', int(now), newest }
end
for _, epoch_key in ipairs(KEYS) do
  redis.call('SET', epoch_key, ARGV[REPLACE.epoch] .. ' restoring ' .. int(now) .. ' 0')
end
return { 'restoring', int(now), ARGV[REPLACE.epoch] }
