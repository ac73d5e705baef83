#!lua flags=allow-oom
-- uses: gate spans amounts holds
-- The end of a call (docs/protocol.md#r4 and docs/protocol.md#r6).
--
-- KEYS  tok, due, a:<account>, h:<account>
-- ARGV  3 account, 4 id, 5 time of the id, 6 outcome (ok | void), 7 amount, 8 tag ('' on a blind release),
--       then, when a lost hold may be created: 9 admitted, 10 worst, 11 planMax, 12 walletMax, 13 session, 14 shape id,
--       15 shape text
-- Replies released, or create: ask again with everything that creates a hold
local DONE_ASK_MS = 5000
local VOID_UNKNOWN_MS = 60000

local now = redis_now()
local token = gate_token()
if not token then
  return { 'lost', int(now) }
end
local id, outcome, amount = ARGV[4], ARGV[6], ARGV[7]
local member = ARGV[3] .. '|' .. id
local known = redis.call('HGET', KEYS[4], id)

if not known then
  if outcome == 'ok' then
    -- Another tag: the gate that held it was lost. The same tag: it was closed, nothing happens.
    if ARGV[8] ~= token then
      if not ARGV[14] then
        return { 'create', int(now), token }
      end
      create_hold(KEYS[3], KEYS[4], member, id, {
        state = 'd', shape = ARGV[14], admitted = ARGV[9], worst = ARGV[10], plan_max = ARGV[11], wallet_max = ARGV[12],
        session = ARGV[13], amount = amount, slot = '0', lease = '0', due = int(now + DONE_ASK_MS), tries = '0', edge = '-',
      }, ARGV[15], now + DONE_ASK_MS, now)
    end
  elseif now - tonumber(ARGV[5]) < VOID_UNKNOWN_MS then
    redis.call('HSET', KEYS[4], id, 'g')
    redis.call('ZADD', KEYS[2], int(now + GONE_MS), member)
  end
  return { 'released', int(now), token }
end

local hold = parse_hold(known)
if hold.state ~= 'o' and hold.state ~= 'x' then
  return { 'released', int(now), token }
end
local shape_text = shape_of(KEYS[4], hold)
if outcome == 'void' then
  end_hold(KEYS[3], KEYS[4], member, id, hold, shape_text, now)
  return { 'released', int(now), token }
end
local wallet_before, amount_before, plan_before = held_by(hold)
local slot = hold.slot == '1' and -1 or 0
hold.state, hold.amount, hold.slot, hold.lease, hold.tries, hold.edge = 'd', amount, '0', '0', '0', '-'
hold.due = int(now + DONE_ASK_MS)
local wallet_after, amount_after, plan_after = held_by(hold)
adjust(
  KEYS[3], hold, shape_text, wallet_after - wallet_before, amount_after - amount_before, plan_after - plan_before, 0,
  slot, 0
)
redis.call('HSET', KEYS[4], id, hold_text(hold))
redis.call('ZADD', KEYS[2], hold.due, member)
return { 'released', int(now), token }
