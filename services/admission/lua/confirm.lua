#!lua
-- uses: epoch spans summary
-- Marks accounts as loaded from the time of their summaries on, after the owners have confirmed the
-- summaries (docs/protocol.md#r12). Writes nothing for an account that has changed since, or later
-- than a load may be written.
--
-- Replies {'lost' or 'void', now}, or {'open', now, then 'confirmed' or 'changed' for each account}
local epoch_key = KEYS[KEY.epoch]
local load_epoch, load_start, ledger_epoch = ARGV[CONFIRM.load_epoch], ARGV[CONFIRM.load_start], ARGV[CONFIRM.ledger_epoch]
local now = redis_now()
local epoch, state, caught_up, since = read_epoch(epoch_key)
if not epoch then
  return { 'lost', int(now) }
end
if load_epoch ~= epoch or now - tonumber(load_start) > LOAD_MS then
  return { 'void', int(now) }
end
local reply, suffix = { 'open', int(now) }, suffix_of(epoch)
local at = CONFIRM.size
for index = KEY.account, #KEYS do
  local version, summary = ARGV[at + CONFIRM_ACCOUNT.version], ARGV[at + CONFIRM_ACCOUNT.summary]
  at = at + CONFIRM_ACCOUNT.size
  if string.match(summary, '^[^\n]+') == ledger_epoch and summary_of(KEYS[index], suffix) == summary then
    local news = { 't', suffix, 'at', load_start, 'lv', version }
    for field, key_version in string.gmatch(summary, '\n(k:[^\n]+)\n%S+ (%d+)') do
      news[#news + 1] = field
      news[#news + 1] = suffix .. ' ' .. key_version
    end
    redis.call('HSET', KEYS[index], unpack(news))
    reply[#reply + 1] = 'confirmed'
  else
    reply[#reply + 1] = 'changed'
  end
end
if caught_up ~= '1' then
  note_caught_up(epoch_key, epoch, state, since)
end
return reply
