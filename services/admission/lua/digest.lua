#!lua flags=no-writes
-- uses: gate digest
-- What the owners are asked for, before an account that was kept through a loss of its epoch counts again
-- (docs/protocol.md#r12).
--
-- Replies {state, now}, or {'kept', now, token, then the digest}
local now = redis_now()
local token, state = gate_token(KEYS[KEY.token])
if not token then
  return { 'lost', int(now) }
end
if state ~= 'open' then
  return { 'restoring', int(now) }
end
local digest, why = digest_of(KEYS[KEY.account], mark_of(token))
if not digest then
  return { why, int(now) }
end
return { 'kept', int(now), token, unpack(digest) }
