#!lua flags=no-writes
-- uses: gate
-- The state that decides, read without taking anything: for the model list and the usage endpoint.
--
-- KEYS  tok, due, a:<account>, k:<key>
-- ARGV  3 and more: fields of the account
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
local account = redis.call('HMGET', KEYS[3], 't', 's', 'tv', 'tt', 'at', 'ss')
local key = redis.call('HMGET', KEYS[4], 't', 'j')
local reply = {
  'open', int(now), token, caught_up, account[1] == token and '1' or '0', key[1] == token and '1' or '0',
  key[2] or '', account[2] or '', account[3] or '', account[4] or '', account[5] or '0', account[6] or '0',
}
for index = 3, #ARGV do
  reply[#reply + 1] = redis.call('HGET', KEYS[3], ARGV[index]) or '-'
end
return reply
