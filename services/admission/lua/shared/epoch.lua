-- Time and the epoch. The first arguments of every script are the run ID of the server, as read in
-- the handshake, and the clock offset in milliseconds (0 outside tests).

-- Converts an integer up to 2^53 to text. Lua's own conversion writes 1e+15, and '%.0f' is three
-- times as expensive. '%d' converts to a C long, which is why only 64-bit servers are supported.
local function int(number)
  return string.format('%d', number)
end

local function redis_now()
  local seconds, micros = unpack(redis.call('TIME'))
  return seconds * 1000 + math.floor(micros / 1000) + tonumber(ARGV[RUN.clock_offset])
end

-- Reads the epoch of a bucket, its state ('open' or 'restoring'), whether billing has caught up
-- since ('1'), and the start of the state. Returns nil when the limit store was lost: the epoch
-- does not exist or comes from another run of the server.
local function read_epoch(key)
  local run_id = ARGV[RUN.run_id]
  local stored = redis.call('GET', key)
  if not stored or string.sub(stored, 1, #run_id) ~= run_id then
    return nil
  end
  local epoch_end = string.find(stored, ' ', #run_id + 1, true)
  local state_end = string.find(stored, ' ', epoch_end + 1, true)
  local since_end = string.find(stored, ' ', state_end + 1, true)
  return string.sub(stored, 1, epoch_end - 1), string.sub(stored, epoch_end + 1, state_end - 1),
    string.sub(stored, since_end + 1), string.sub(stored, state_end + 1, since_end - 1)
end

-- Returns the epoch suffix: the random end of an epoch, which is unique within the bucket. Accounts
-- and keys store the suffix, so that their fields stay short.
local SUFFIX_CHARS = 12
local function suffix_of(epoch)
  return string.sub(epoch, -SUFFIX_CHARS)
end

-- Records that billing has settled all events that were stored before the epoch was set.
local function note_caught_up(key, epoch, state, since)
  redis.call('SET', key, epoch .. ' ' .. state .. ' ' .. since .. ' 1')
end
