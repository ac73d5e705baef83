#!lua
-- uses: gate spans summary
-- Marks accounts as loaded from the time of their summaries on, after the owners have confirmed the
-- summaries (docs/protocol.md#r12). Writes nothing for an account that has changed since, or later
-- than a load may be written.
--
-- Replies {'lost' or 'void', now}, or {'open', now, then 'confirmed' or 'changed' for each account}
local token_key = KEYS[KEY.token]
local load_token, load_start, ledger_epoch = ARGV[CONFIRM.load_token], ARGV[CONFIRM.load_start], ARGV[CONFIRM.ledger_epoch]
local now = redis_now()
local token, state, caught_up, since = gate_token(token_key)
if not token then
  return { 'lost', int(now) }
end
if load_token ~= token or now - tonumber(load_start) > LOAD_MS then
  return { 'void', int(now) }
end
local reply, mark = { 'open', int(now) }, mark_of(token)
local at = CONFIRM.size
for index = KEY.account, #KEYS do
  local version, summary = ARGV[at + CONFIRM_ACCOUNT.version], ARGV[at + CONFIRM_ACCOUNT.summary]
  at = at + CONFIRM_ACCOUNT.size
  if string.match(summary, '^[^\n]+') == ledger_epoch and summary_of(KEYS[index], mark) == summary then
    local news = { 't', mark, 'at', load_start, 'lv', version }
    for field, key_version in string.gmatch(summary, '\n(k:[^\n]+)\n%S+ (%d+)') do
      news[#news + 1] = field
      news[#news + 1] = mark .. ' ' .. key_version
    end
    redis.call('HSET', KEYS[index], unpack(news))
    reply[#reply + 1] = 'confirmed'
  else
    reply[#reply + 1] = 'changed'
  end
end
if caught_up ~= '1' then
  note_caught_up(token_key, token, state, since)
end
return reply
