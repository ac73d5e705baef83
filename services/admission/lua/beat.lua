#!lua flags=allow-oom
-- uses: gate spans amounts holds
-- One edge's running calls of one bucket (docs/protocol.md#r5). A hold that is present and open
-- lives on; an absent one that was held under another token was lost: its place is named, so that
-- it is created anew. A last beat that is read for a bucket which another replica has opened
-- meanwhile says nothing any more.
--
-- KEYS  tok, due
-- ARGV  3 prefix of accounts (a:), 4 prefix of holds (h:), 5 lease ms, 6 expiry ms, 7 '1' while the bucket is restored;
--       then for each account: account, number of calls, id and tag of each
-- Replies {state, now, token, number of lost, ids of the lost, ids to abort}
local now = redis_now()
local token, state = gate_token()
if not token then
  return { 'lost', int(now) }
end
if ARGV[7] == '1' and state ~= 'restoring' then
  return { state, int(now), token, '0' }
end
local lease, due = now + tonumber(ARGV[5]), now + tonumber(ARGV[6])
local lease_text, due_text, next_text = int(lease), int(due), int(math.min(lease, due))
local lost, abort = {}, {}
-- Lua hands on a few thousand values at once: more calls of one account go in parts.
local PART = 500

-- Calls `first` to `last` of an account, whose ids and tags begin after `at`. Whether one of them lives on.
local function beat_part(at, first, last, account, account_key, hold_key, suspended)
  local ids = {}
  for call = first, last do
    ids[#ids + 1] = ARGV[at + call * 2]
  end
  local holds = redis.call('HMGET', hold_key, unpack(ids))
  local set, scores = {}, {}
  for index, id in ipairs(ids) do
    local hold = holds[index] and parse_hold(holds[index])
    local call = first + index - 1
    if not hold then
      if ARGV[at + call * 2 + 1] ~= token then
        lost[#lost + 1] = id
      end
    elseif hold.state == 'o' then
      if ARGV[7] == '1' and hold.slot == '0' then
        adjust(account_key, hold, shape_of(hold_key, hold), 0, 0, 0, 0, 1, 0)
        hold.slot = '1'
      end
      hold.due = due_text
      hold.lease = hold.slot == '1' and lease_text or '0'
      set[#set + 1] = id
      set[#set + 1] = hold_text(hold)
      scores[#scores + 1] = hold.slot == '1' and next_text or due_text
      scores[#scores + 1] = account .. '|' .. id
    end
    if suspended or (hold and hold.slot == '2') then
      abort[#abort + 1] = id
    end
  end
  if #set > 0 then
    redis.call('HSET', hold_key, unpack(set))
    redis.call('ZADD', KEYS[2], unpack(scores))
  end
  return #set > 0
end

local at = 8
while at <= #ARGV do
  local account, calls = ARGV[at], tonumber(ARGV[at + 1])
  local account_key, hold_key = ARGV[3] .. account, ARGV[4] .. account
  local account_state, renewed_at = unpack(redis.call('HMGET', account_key, 's', 'x'))
  local lives = false
  for first = 1, calls, PART do
    local last = math.min(first + PART - 1, calls)
    lives = beat_part(at, first, last, account, account_key, hold_key, account_state == 'suspended') or lives
  end
  if lives then
    keep(account_key, renewed_at, now)
  end
  at = at + 2 + calls * 2
end
local reply = { state, int(now), token, int(#lost) }
for _, id in ipairs(lost) do
  reply[#reply + 1] = id
end
for _, id in ipairs(abort) do
  reply[#reply + 1] = id
end
return reply
