#!lua flags=allow-oom
-- uses: epoch
-- Finds the buckets of a server that must be swept (docs/protocol.md#r9): those with due entries
-- and those that are not open. While all buckets are open, one poll is valid for all replicas until
-- its time ends. Sweeping a bucket twice or one poll later is harmless: the sweep is repeatable,
-- and due times stay. Keys: those of each bucket, then the key of the poll.
--
-- A poll also stores when a replica last received heartbeats, and since when without a gap. Silence
-- counts only while heartbeats are received, and only after edges had a lease's time to send them
-- after a gap. A server without a stored poll has lost its buckets, and earlier silence does not
-- count for them. These times are the server's own times: when a test moves the clock, no silence
-- results.
--
-- Replies {'polled', now, newest epoch, number of holds, time until which silence counts (0:
-- never), then the numbers of the buckets to sweep}
-- {'recent', now, newest epoch, number of holds}: the result of another replica's poll
local poll_key, replica = KEYS[#KEYS], ARGV[DUE.replica]
local others_ms, own_ms = tonumber(ARGV[DUE.others_ms]), tonumber(ARGV[DUE.own_ms])
local run_id = ARGV[RUN.run_id]
local now = redis_now()
local server_now = now - tonumber(ARGV[RUN.clock_offset])
local poll = redis.call('GET', poll_key)
local listened_at, listens_since = server_now, 0
if poll then
  local polled_run, polled_by, till, polled_holds, polled_newest, last_at, last_since =
    string.match(poll, '^(%S+) (%S+) (%d+) (%d+) (%S*) (%d+) (%d+)$')
  -- Ignores a poll from the future, so that a wrong clock cannot delay sweeps for longer than the
  -- pause between two sweeps.
  if polled_run == run_id and polled_by ~= replica and now < tonumber(till) and tonumber(till) <= now + others_ms then
    return { 'recent', int(now), polled_newest, polled_holds }
  end
  if polled_run == run_id then
    listened_at, listens_since = tonumber(last_at), tonumber(last_since)
  end
end
local silent_until = 0
if ARGV[DUE.listens] == '1' then
  if server_now - listened_at > tonumber(ARGV[DUE.silence_ms]) then
    listens_since = server_now
  end
  listened_at = server_now
  if listens_since == 0 or server_now - listens_since >= tonumber(ARGV[DUE.lease_ms]) then
    silent_until = now
  end
end
local newest, holds, are_open = '', 0, true
local buckets = {}
-- Each bucket has the keys up to this position. Returns the size of a set, and whether any of its
-- entries is due.
local BUCKET_KEYS = KEY.unsettled
local function count_due(key)
  local kept = redis.call('ZCARD', key)
  return kept, kept > 0 and #redis.call('ZRANGEBYSCORE', key, '-inf', int(now), 'LIMIT', 0, 1) > 0
end
for bucket_at = 0, #KEYS - 2, BUCKET_KEYS do
  local epoch_key = KEYS[bucket_at + KEY.epoch]
  local epoch, state = read_epoch(epoch_key)
  local is_open = state == 'open'
  if epoch and epoch > newest then
    newest = epoch
  end
  local kept, has_due = count_due(KEYS[bucket_at + KEY.due])
  local unsettled, has_unsettled = count_due(KEYS[bucket_at + KEY.unsettled])
  holds = holds + kept + unsettled
  are_open = are_open and is_open
  if not is_open or has_due or has_unsettled then
    buckets[#buckets + 1] = string.match(epoch_key, '%d+')
  end
end
local till = are_open and now + own_ms or 0
redis.call('SET', poll_key, table.concat({
  run_id, replica, int(till), int(holds), newest, int(listened_at), int(listens_since),
}, ' '))
return { 'polled', int(now), newest, int(holds), int(silent_until), unpack(buckets) }
