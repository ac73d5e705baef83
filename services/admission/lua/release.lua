#!lua flags=allow-oom
-- uses: epoch spans amounts holds
-- Ends a call (docs/protocol.md#r4 and docs/protocol.md#r6). The arguments may include everything
-- that creates a lost hold.
--
-- Replies released, or create: the caller must repeat with everything that creates a hold
local DONE_QUERY_MS = 5000
local VOID_UNKNOWN_MS = 60000

local due_key, account_key, hold_key = KEYS[KEY.due], KEYS[KEY.account], KEYS[KEY.holds]
local account, id = ARGV[RELEASE.account], ARGV[RELEASE.id]
local id_time, outcome, amount = ARGV[RELEASE.id_time], ARGV[RELEASE.outcome], ARGV[RELEASE.amount]
local call_epoch = ARGV[RELEASE.call_epoch]
local now = redis_now()
local epoch = read_epoch(KEYS[KEY.epoch])
if not epoch then
  return { 'lost', int(now) }
end
local member = account .. '|' .. id
local known = redis.call('HGET', hold_key, id)
if not known then
  -- Without a hold, another epoch means that the hold's limit store was lost. With the same epoch
  -- the hold was closed, and nothing happens.
  if outcome == 'ok' and call_epoch ~= epoch then
    local hold_at = RELEASE.size
    if #ARGV == hold_at then
      return { 'create', int(now), epoch }
    end
    create_hold(due_key, account_key, hold_key, member, id, {
      state = 'd', shape = ARGV[hold_at + RELEASE_HOLD.shape], admitted = ARGV[hold_at + RELEASE_HOLD.admitted],
      worst = ARGV[hold_at + RELEASE_HOLD.worst], plan_max = ARGV[hold_at + RELEASE_HOLD.plan_max],
      wallet_max = ARGV[hold_at + RELEASE_HOLD.wallet_max], session = ARGV[hold_at + RELEASE_HOLD.session],
      amount = amount, slot = '0', lease = '0', due = int(now + DONE_QUERY_MS), tries = '0', edge = '-',
    }, ARGV[hold_at + RELEASE_HOLD.shape_text], now + DONE_QUERY_MS, now)
  elseif outcome == 'void' and now - tonumber(id_time) < VOID_UNKNOWN_MS then
    redis.call('HSET', hold_key, id, 'g')
    redis.call('ZADD', due_key, int(now + GONE_MS), member)
  end
  return { 'released', int(now), epoch }
end

local hold = parse_hold(known)
if hold.state ~= 'o' and hold.state ~= 'x' then
  return { 'released', int(now), epoch }
end
if outcome == 'void' then
  end_hold(due_key, KEYS[KEY.unsettled], account_key, hold_key, member, id, hold, shape_of(hold_key, hold), now)
  return { 'released', int(now), epoch }
end
local wallet_before, amount_before, plan_before, bears_before = held_by(hold)
local slot = hold.slot == '1' and -1 or 0
hold.state, hold.amount, hold.slot, hold.lease, hold.tries, hold.edge = 'd', amount, '0', '0', '0', '-'
hold.due = int(now + DONE_QUERY_MS)
local wallet_after, amount_after, plan_after, bears_after = held_by(hold)
adjust(
  account_key, hold, shape_of(hold_key, hold), wallet_after - wallet_before, amount_after - amount_before,
  plan_after - plan_before, 0, slot, 0, bears_after - bears_before
)
redis.call('HSET', hold_key, id, hold_text(hold))
redis.call('ZADD', due_key, hold.due, member)
return { 'released', int(now), epoch }
