#!lua
-- uses: gate spans digest
-- An account of which the owners have said that it is as its digest counts as loaded from the time of the digest on
-- (docs/protocol.md#r12). Nothing is written when it is another one by now, or as late as a load may not be.
local token_key, account_key = KEYS[KEY.token], KEYS[KEY.account]
local load_token, load_start = ARGV[CONFIRM.load_token], ARGV[CONFIRM.load_start]
local ledger_epoch, account_version = ARGV[CONFIRM.ledger_epoch], ARGV[CONFIRM.account_version]
local now = redis_now()
local token, state, caught_up, since = gate_token(token_key)
if not token then
  return { 'lost', int(now) }
end
if load_token ~= token or now - tonumber(load_start) > LOAD_MS then
  return { 'void', int(now) }
end
local mark = mark_of(token)
local digest = digest_of(account_key, mark)
if not digest or digest[1] ~= ledger_epoch or table.concat(digest, '\n') ~= ARGV[CONFIRM.digest] then
  return { 'changed', int(now) }
end
local news = { 't', mark, 'at', load_start, 'lv', account_version }
for at = 4, #digest, 2 do
  if string.sub(digest[at], 1, 2) == 'k:' then
    news[#news + 1] = digest[at]
    news[#news + 1] = mark .. string.match(digest[at + 1], ' .*$')
  end
end
redis.call('HSET', account_key, unpack(news))
if caught_up ~= '1' then
  note_caught_up(token_key, token, state, since)
end
return { 'confirmed', int(now) }
