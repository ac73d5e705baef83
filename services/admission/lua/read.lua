#!lua flags=no-writes
-- uses: epoch
-- Reads the state that decisions use, without any change, for the model list and the usage
-- endpoint.
--
-- Replies {state, now, epoch, caught up, account loaded, key loaded, key record, account state,
-- terms version, terms, periods, loaded at, session start, then the fields; '-': missing}
local now = redis_now()
local epoch, state, caught_up = read_epoch(KEYS[KEY.epoch])
if not epoch then
  return { 'lost', int(now) }
end
if state ~= 'open' then
  return { 'restoring', int(now) }
end
local key_field = ARGV[READ.key_field]
local loaded_under, account_state, terms_version, loaded_at, session, text_id, period, next_period, loaded_key = unpack(
  redis.call('HMGET', KEYS[KEY.account], 't', 's', 'tv', 'at', 'ss', 'tt', 'tp', 'tn', key_field)
)
local suffix = suffix_of(epoch)
local record = redis.call('GET', KEYS[KEY.key_record])
local terms = text_id and redis.call('GET', KEYS[KEY.texts] .. text_id)
local has_account = loaded_under == suffix and (terms or terms_version == '0')
local has_key = record and string.match(loaded_key or '', '^%S+') == suffix
local reply = {
  'open', int(now), epoch, caught_up, has_account and '1' or '0', has_key and '1' or '0',
  record or '', account_state or '', terms_version or '', terms or '', (period or '') .. '|' .. (next_period or ''),
  loaded_at or '0', session or '0',
}
if #ARGV > READ.size then
  for _, value in ipairs(redis.call('HMGET', KEYS[KEY.account], unpack(ARGV, READ.size + 1))) do
    reply[#reply + 1] = value or '-'
  end
end
return reply
