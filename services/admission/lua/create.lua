#!lua flags=allow-oom
-- uses: epoch spans amounts holds
-- Creates the hold of a running call again after its limit store was lost (docs/protocol.md#r5 and
-- docs/protocol.md#r12). No limit is checked, because the call was admitted.
local due_key, account_key, hold_key = KEYS[KEY.due], KEYS[KEY.account], KEYS[KEY.holds]
local account, id = ARGV[CREATE.account], ARGV[CREATE.id]
local call_epoch, only_restoring = ARGV[CREATE.call_epoch], ARGV[CREATE.only_restoring] == '1'
local now = redis_now()
local epoch, state = read_epoch(KEYS[KEY.epoch])
if not epoch then
  return { 'lost', int(now) }
end
local wanted = not only_restoring or state == 'restoring'
if wanted and call_epoch ~= epoch and redis.call('HEXISTS', hold_key, id) == 0 then
  local lease, due = now + tonumber(ARGV[CREATE.lease_ms]), now + tonumber(ARGV[CREATE.expiry_ms])
  create_hold(due_key, account_key, hold_key, account .. '|' .. id, id, {
    state = 'o', shape = ARGV[CREATE.shape], admitted = ARGV[CREATE.admitted], worst = ARGV[CREATE.worst],
    plan_max = ARGV[CREATE.plan_max], wallet_max = ARGV[CREATE.wallet_max], session = ARGV[CREATE.session],
    amount = '0', slot = '1', lease = int(lease), due = int(due), tries = '0', edge = ARGV[CREATE.edge],
  }, ARGV[CREATE.shape_text], math.min(lease, due), now)
end
return { 'created', int(now), epoch }
