#!lua flags=allow-oom
-- uses: epoch
-- Decides which replica restores lost buckets (docs/protocol.md#r12). One replica has the lease,
-- and the others wait until it ends.
--
-- Replies {'mine' or 'theirs', now}
local lease_key, replica, lease_ms = KEYS[#KEYS], ARGV[LEASE.replica], tonumber(ARGV[LEASE.lease_ms])
local now = redis_now()
local lease = redis.call('GET', lease_key)
if lease then
  local holder, till = string.match(lease, '^(%S+) (%d+)$')
  till = tonumber(till)
  -- Ignores a lease from the future, so that a wrong clock cannot delay a recovery.
  if holder ~= replica and now < till and till <= now + lease_ms then
    return { 'theirs', int(now) }
  end
end
redis.call('SET', lease_key, replica .. ' ' .. int(now + lease_ms))
return { 'mine', int(now) }
