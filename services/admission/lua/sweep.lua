#!lua flags=allow-oom
-- uses: epoch spans amounts holds
-- Processes the due entries of one bucket (docs/protocol.md#r9): frees the slot of a lapsed lease,
-- deletes tombstones and notes (m:), and marks open holds past due as expiring. The owner is
-- queried for expiring and done holds. Done holds without a record at billing wait in a separate
-- set, because their number grows while billing is away; an argument limits how many of them are
-- read.
--
-- Silence counts up to a time that the previous poll returned. If the server was paused and runs
-- this script late, calls with heartbeats that wait behind the script lose nothing.
--
-- Replies {state, now, epoch, caught up, due entries seen, slots freed, then account, ID, hold,
-- shape of each hold to query}
local QUERY_AGAIN_MS = 5000
local QUERY_AGAIN_MAX_MS = 60000
-- Delay before an open hold is checked again if its silence does not count.
local UNHEARD_MS = 5000

local due_key, unsettled_key = KEYS[KEY.due], KEYS[KEY.unsettled]
local accounts_prefix, holds_prefix = ARGV[SWEEP.accounts], ARGV[SWEEP.holds]
local silent_until = tonumber(ARGV[SWEEP.silent_until])
local now = redis_now()
local epoch, state, caught_up = read_epoch(KEYS[KEY.epoch])
if not epoch then
  return { 'lost', int(now) }
end
if state ~= 'open' then
  return { 'restoring', int(now), epoch }
end
local freed = 0
local due_holds = {}
-- Adds a hold to the queries and counts the attempt. Returns the time of the next query.
local function add_query(account, id, hold, shape_text)
  local tries = tonumber(hold.tries)
  hold.tries = int(math.min(tries + 1, 9))
  due_holds[#due_holds + 1] = account
  due_holds[#due_holds + 1] = id
  due_holds[#due_holds + 1] = hold_text(hold)
  due_holds[#due_holds + 1] = shape_text
  return now + math.min(QUERY_AGAIN_MAX_MS, QUERY_AGAIN_MS * 2 ^ tries)
end
-- Returns due members of a set, up to the given number.
local function due_of(key, entries_max)
  return redis.call('ZRANGEBYSCORE', key, '-inf', int(now), 'LIMIT', 0, tonumber(entries_max))
end
-- Returns the account, the ID, the key of the account's holds, and the hold if it exists.
local function read_member(member)
  local account, id = string.match(member, '^([^|]*)|(.*)$')
  local hold_key = holds_prefix .. account
  local known = redis.call('HGET', hold_key, id)
  return account, id, hold_key, known and parse_hold(known)
end
local function write(account, id, hold_key, hold, key, next_at, member)
  redis.call('HSET', hold_key, id, hold_text(hold))
  redis.call('ZADD', key, int(next_at), member)
  keep(accounts_prefix .. account, redis.call('HGET', accounts_prefix .. account, 'x'), now)
end

for _, member in ipairs(due_of(unsettled_key, ARGV[SWEEP.unsettled_max])) do
  local account, id, hold_key, hold = read_member(member)
  if hold and hold.state == 'd' then
    local next_at = add_query(account, id, hold, shape_of(hold_key, hold))
    write(account, id, hold_key, hold, unsettled_key, next_at, member)
  else
    -- The hold is gone or no longer due.
    redis.call('ZREM', unsettled_key, member)
  end
end
local members = due_of(due_key, ARGV[SWEEP.entries_max])
-- Entries that are deleted together. Their holds count as 0.
local gone_members, gone_ids = {}, {}
for _, member in ipairs(members) do
  local account, id, hold_key, hold = read_member(member)
  if not hold or hold.state == 'g' then
    gone_members[#gone_members + 1] = member
    gone_ids[hold_key] = gone_ids[hold_key] or {}
    table.insert(gone_ids[hold_key], id)
  else
    local shape_text = shape_of(hold_key, hold)
    local is_silent = tonumber(hold.due) <= silent_until
    if hold.state == 'o' and hold.slot == '1' and (is_silent or tonumber(hold.lease) <= silent_until) then
      adjust(accounts_prefix .. account, hold, shape_text, 0, 0, 0, 0, -1, 0)
      hold.slot, hold.lease = '0', '0'
      freed = freed + 1
    end
    local next_at = tonumber(hold.slot == '1' and hold.lease or hold.due)
    if next_at <= now then
      next_at = now + UNHEARD_MS
    end
    if is_silent or hold.state ~= 'o' then
      if hold.state == 'o' then
        hold.state = 'x'
      end
      next_at = add_query(account, id, hold, shape_text)
    end
    local key = due_key
    if hold.state == 'd' then
      redis.call('ZREM', due_key, member)
      key = unsettled_key
    end
    write(account, id, hold_key, hold, key, next_at, member)
  end
end
if #gone_members > 0 then
  redis.call('ZREM', due_key, unpack(gone_members))
  for hold_key, ids in pairs(gone_ids) do
    redis.call('HDEL', hold_key, unpack(ids))
  end
end
return { 'open', int(now), epoch, caught_up, int(#members), int(freed), unpack(due_holds) }
