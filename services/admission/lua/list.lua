#!lua flags=no-writes
-- uses: epoch
-- Returns one scan step over the calls of one bucket that have not ended. It scans the set of due
-- times, which is the only list of calls. An entry that stays in the set from the first step to the
-- last is found, even if its due time changes. The scan starts with cursor '0'. The pattern matches
-- <account>|<id>.
--
-- Replies {state, now, epoch, next cursor ('0': the scan is complete), then account, ID, hold,
-- shape of each call}
local holds_prefix, cursor = ARGV[LIST.holds], ARGV[LIST.cursor]
local now = redis_now()
local epoch, state = read_epoch(KEYS[KEY.epoch])
if not epoch then
  return { 'lost', int(now) }
end
if state ~= 'open' then
  return { 'restoring', int(now), epoch }
end
local next_cursor, found = unpack(redis.call(
  'ZSCAN', KEYS[KEY.due], cursor, 'MATCH', ARGV[LIST.pattern], 'COUNT', ARGV[LIST.entries_max]
))
local reply = { 'open', int(now), epoch, next_cursor }
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
