#!lua flags=no-writes
-- uses: epoch summary
-- Returns the data that the owners must confirm before accounts that were kept through a loss of
-- their epoch count again (docs/protocol.md#r12). The keys of the accounts follow those of the
-- bucket.
--
-- Replies {state, now}, or {'open', now, epoch, then the summary of each account}
local now = redis_now()
local epoch, state = read_epoch(KEYS[KEY.epoch])
if not epoch then
  return { 'lost', int(now) }
end
if state ~= 'open' then
  return { 'restoring', int(now) }
end
local reply, suffix = { 'open', int(now), epoch }, suffix_of(epoch)
for index = KEY.account, #KEYS do
  reply[#reply + 1] = summary_of(KEYS[index], suffix)
end
return reply
