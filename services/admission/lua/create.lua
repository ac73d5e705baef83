#!lua flags=allow-oom
-- uses: gate spans amounts holds
-- Holds a running call again whose gate was lost (docs/protocol.md#r5 and docs/protocol.md#r12). No
-- limit is asked: it was admitted.
--
-- KEYS  tok, due, a:<account>, h:<account>
-- ARGV  3 account, 4 id, 5 tag, 6 edge, 7 lease ms, 8 expiry ms,
--       9 admitted, 10 worst, 11 planMax, 12 walletMax, 13 session, 14 shape id, 15 shape text,
--       16 '1': only while the bucket is restored
local now = redis_now()
local token, state = gate_token()
if not token then
  return { 'lost', int(now) }
end
local wanted = ARGV[16] ~= '1' or state == 'restoring'
if wanted and ARGV[5] ~= token and redis.call('HEXISTS', KEYS[4], ARGV[4]) == 0 then
  local lease, due = now + tonumber(ARGV[7]), now + tonumber(ARGV[8])
  create_hold(KEYS[3], KEYS[4], ARGV[3] .. '|' .. ARGV[4], ARGV[4], {
    state = 'o', shape = ARGV[14], admitted = ARGV[9], worst = ARGV[10], plan_max = ARGV[11], wallet_max = ARGV[12],
    session = ARGV[13], amount = '0', slot = '1', lease = int(lease), due = int(due), tries = '0', edge = ARGV[6],
  }, ARGV[15], math.min(lease, due), now)
end
return { 'created', int(now), token }
