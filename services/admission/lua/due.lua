#!lua flags=allow-oom
-- uses: gate
-- Which buckets of a server have to be swept (docs/protocol.md#r9): those in which something is due,
-- and those that are not open. While all of them are open one look is enough for all replicas until
-- its time is over. What is swept twice, or by nobody for one look more, does no harm: the sweep is
-- repeatable, and due times stay. Keys: those of each bucket, and at last the look.
--
-- A look also notes when somebody last listened to heartbeats, and since when without a gap: silence
-- counts only then, and only when edges had a lease's time for heartbeats after the gap. A server
-- without a look has lost its buckets, and no silence of before counts in them. These times are the
-- server's own: a test that moves the clock has not been silent.
--
-- Replies {'looked', now, newest token, holds kept, until when silence counts (0: not at all), then
--          the numbers of the buckets to sweep}
--         {'enough', now, newest token, holds kept}: as the look of another replica found them
local look_key, replica = KEYS[#KEYS], ARGV[DUE.replica]
local others_ms, own_ms = tonumber(ARGV[DUE.others_ms]), tonumber(ARGV[DUE.own_ms])
local run_id = ARGV[RUN.run_id]
local now = redis_now()
local server_now = now - tonumber(ARGV[RUN.clock_offset])
local look = redis.call('GET', look_key)
local listened_at, listens_since = server_now, 0
if look then
  local looked_run, looked_by, till, looked_holds, looked_newest, last_at, last_since =
    string.match(look, '^(%S+) (%S+) (%d+) (%d+) (%S*) (%d+) (%d+)$')
  -- A look from the future is none: no clock may hold sweeps off for longer than a pause between
  -- them.
  if looked_run == run_id and looked_by ~= replica and now < tonumber(till) and tonumber(till) <= now + others_ms then
    return { 'enough', int(now), looked_newest, looked_holds }
  end
  if looked_run == run_id then
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
-- A bucket has the keys up to this one. What is in a set, and whether some of it has fallen due.
local BUCKET_KEYS = KEY.asked
local function count_due(key)
  local kept = redis.call('ZCARD', key)
  return kept, kept > 0 and #redis.call('ZRANGEBYSCORE', key, '-inf', int(now), 'LIMIT', 0, 1) > 0
end
for bucket_at = 0, #KEYS - 2, BUCKET_KEYS do
  local token_key = KEYS[bucket_at + KEY.token]
  local token, state = gate_token(token_key)
  local is_open = state == 'open'
  if token and token > newest then
    newest = token
  end
  local kept, has_due = count_due(KEYS[bucket_at + KEY.due])
  local asked, has_asked = count_due(KEYS[bucket_at + KEY.asked])
  holds = holds + kept + asked
  are_open = are_open and is_open
  if not is_open or has_due or has_asked then
    buckets[#buckets + 1] = string.match(token_key, '%d+')
  end
end
local till = are_open and now + own_ms or 0
redis.call('SET', look_key, table.concat({
  run_id, replica, int(till), int(holds), newest, int(listened_at), int(listens_since),
}, ' '))
return { 'looked', int(now), newest, int(holds), int(silent_until), unpack(buckets) }
