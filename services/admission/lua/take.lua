#!lua flags=allow-oom
-- uses: epoch spans amounts holds
-- Takes back a call's slot for an operator, for good. The slot is free at once, no heartbeat takes
-- it again, and the next heartbeat reply requests the end of the call. Its money stays held until
-- its record arrives.
--
-- Replies taken, also when it was taken before, or ended: no call runs under this ID here
local due_key, account_key, hold_key = KEYS[KEY.due], KEYS[KEY.account], KEYS[KEY.holds]
local account, id = ARGV[TAKE.account], ARGV[TAKE.id]
local now = redis_now()
local epoch = read_epoch(KEYS[KEY.epoch])
if not epoch then
  return { 'lost', int(now) }
end
local known = redis.call('HGET', hold_key, id)
local hold = known and parse_hold(known)
if not hold or (hold.state ~= 'o' and hold.state ~= 'x') then
  return { 'ended', int(now), epoch }
end
if hold.slot ~= '2' then
  if hold.slot == '1' then
    adjust(account_key, hold, shape_of(hold_key, hold), 0, 0, 0, 0, -1, 0)
  end
  hold.slot, hold.lease = '2', '0'
  redis.call('HSET', hold_key, id, hold_text(hold))
  if hold.state == 'o' then
    redis.call('ZADD', due_key, hold.due, account .. '|' .. id)
  end
end
return { 'taken', int(now), epoch }
