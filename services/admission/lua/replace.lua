#!lua flags=allow-oom
-- uses: gate
-- New epochs for all buckets of a superseded server that is used again (docs/protocol.md#r12), at
-- once: half of them would make what the other buckets have count too. Unless another replica has
-- done so: then one of them was set at that time or later. Keys: the token of each bucket.
--
-- Replies {'restoring' or 'replaced', now, newest token}
local newest = ''
for _, token_key in ipairs(KEYS) do
  local token = gate_token(token_key)
  if token and token > newest then
    newest = token
  end
end
local now = redis_now()
local set_at = tonumber(string.match(newest, '%.(%d+)%.')) or 0
if set_at >= tonumber(ARGV[REPLACE.stale_before]) then
  return { 'replaced', int(now), newest }
end
for _, token_key in ipairs(KEYS) do
  redis.call('SET', token_key, ARGV[REPLACE.token] .. ' restoring ' .. int(now) .. ' 0')
end
return { 'restoring', int(now), ARGV[REPLACE.token] }
