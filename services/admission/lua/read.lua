#!lua flags=no-writes
-- uses: gate
-- The state that decides, read without taking anything: for the model list and the usage endpoint.
--
-- KEYS  tok, due, a:<account>, k:<key>, prefix of texts (s:)
-- ARGV  3 the key's field (k:<key>), 4 and more: fields of the account
-- Replies {state, now, token, caught up, account loaded, key loaded, key record, account state, terms version, terms,
--   loaded at, session start, then the fields; '-': missing}
local now = redis_now()
local token, state, caught_up = gate_token()
if not token then
  return { 'lost', int(now) }
end
if state ~= 'open' then
  return { 'restoring', int(now) }
end
local account = redis.call('HMGET', KEYS[3], 't', 's', 'tv', 'at', 'ss', 'tt', 'tp', 'tn', unpack(ARGV, 3))
local mark = mark_of(token)
local record = redis.call('GET', KEYS[4])
local terms = account[6] and redis.call('GET', KEYS[5] .. account[6])
local has_account = account[1] == mark and (terms or account[3] == '0')
local has_key = record and string.match(account[9] or '', '^%S+') == mark
local reply = {
  'open', int(now), token, caught_up, has_account and '1' or '0', has_key and '1' or '0',
  record or '', account[2] or '', account[3] or '', terms or '', (account[7] or '') .. '|' .. (account[8] or ''), account[4] or '0', account[5] or '0',
}
for index = 4, #ARGV do
  reply[#reply + 1] = account[index + 6] or '-'
end
return reply
