#!lua flags=allow-oom
-- uses: epoch spans amounts holds
-- Processes the running calls of one edge in one bucket (docs/protocol.md#r5). A hold that exists
-- and is open is extended. A missing hold of another epoch was lost: the call's ID is returned, so
-- that the hold is created again. A last heartbeat has no effect if another replica has opened the
-- bucket in the meantime.
--
-- Replies {state, now, epoch, number of lost calls, IDs of the lost calls, IDs to abort}

-- Lua can pass on only a few thousand values at once, so an account's calls are processed in parts.
local PART = 500

-- Processes calls of an account, which begin after `at`. Returns whether it extended any hold.
local function heartbeat_part(heartbeat, args, at, calls, account, account_key, hold_key, suspended)
  local ids, call_epochs = {}, {}
  for index = 1, calls do
    local call_at = at + (index - 1) * HEARTBEAT_CALL.size
    ids[index], call_epochs[index] = args[call_at + HEARTBEAT_CALL.id], args[call_at + HEARTBEAT_CALL.call_epoch]
  end
  local set, scores = {}, {}
  for index, text in ipairs(redis.call('HMGET', hold_key, unpack(ids))) do
    local id, hold = ids[index], text and parse_hold(text)
    if not hold then
      if call_epochs[index] ~= heartbeat.epoch then
        table.insert(heartbeat.lost, id)
      end
    elseif hold.state == 'o' then
      if heartbeat.is_restoring and hold.slot == '0' then
        adjust(account_key, hold, shape_of(hold_key, hold), 0, 0, 0, 0, 1, 0)
        hold.slot = '1'
      end
      hold.due = heartbeat.due
      hold.lease = hold.slot == '1' and heartbeat.lease or '0'
      set[#set + 1] = id
      set[#set + 1] = hold_text(hold)
      scores[#scores + 1] = hold.slot == '1' and heartbeat.next or heartbeat.due
      scores[#scores + 1] = account .. '|' .. id
    end
    if suspended or (hold and hold.slot == '2') then
      table.insert(heartbeat.abort, id)
    end
  end
  if #set > 0 then
    redis.call('HSET', hold_key, unpack(set))
    redis.call('ZADD', heartbeat.due_key, unpack(scores))
  end
  return #set > 0
end

local accounts_prefix, holds_prefix = ARGV[HEARTBEAT.accounts], ARGV[HEARTBEAT.holds]
local lease_ms, expiry_ms = tonumber(ARGV[HEARTBEAT.lease_ms]), tonumber(ARGV[HEARTBEAT.expiry_ms])
local is_restoring = ARGV[HEARTBEAT.is_restoring] == '1'
local now = redis_now()
local epoch, state = read_epoch(KEYS[KEY.epoch])
if not epoch then
  return { 'lost', int(now) }
end
if is_restoring and state ~= 'restoring' then
  return { state, int(now), epoch, '0' }
end
local heartbeat = {
  due_key = KEYS[KEY.due], epoch = epoch, is_restoring = is_restoring, lost = {}, abort = {},
  lease = int(now + lease_ms), due = int(now + expiry_ms), next = int(now + math.min(lease_ms, expiry_ms)),
}
local account_at = HEARTBEAT.size
while account_at < #ARGV do
  local account, calls = ARGV[account_at + HEARTBEAT_ACCOUNT.account], tonumber(ARGV[account_at + HEARTBEAT_ACCOUNT.calls])
  local account_key, hold_key = accounts_prefix .. account, holds_prefix .. account
  local account_state, renewed_at = unpack(redis.call('HMGET', account_key, 's', 'x'))
  local calls_at = account_at + HEARTBEAT_ACCOUNT.size
  local lives = false
  for first = 0, calls - 1, PART do
    local part_at, part = calls_at + first * HEARTBEAT_CALL.size, math.min(PART, calls - first)
    lives = heartbeat_part(heartbeat, ARGV, part_at, part, account, account_key, hold_key, account_state == 'suspended') or lives
  end
  if lives then
    keep(account_key, renewed_at, now)
  end
  account_at = calls_at + calls * HEARTBEAT_CALL.size
end
local reply = { state, int(now), epoch, int(#heartbeat.lost) }
for _, id in ipairs(heartbeat.lost) do
  reply[#reply + 1] = id
end
for _, id in ipairs(heartbeat.abort) do
  reply[#reply + 1] = id
end
return reply
