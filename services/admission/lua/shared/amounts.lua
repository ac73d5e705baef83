-- Amounts in nano-USD, at most AMOUNT_MAX, which a double holds exactly (as in metering).
local AMOUNT_MAX = 9000000000000000
-- From this value on, doubles skip integers.
local EXACT_END = 9007199254740992
local LOW_DIGITS = 9
local LOW = 1000000000

-- Adds `delta` to a held sum and returns it as text. The absolute value of `delta` is at most
-- AMOUNT_MAX. Without a cap the sum of a month is unbounded, and each addition must be reversible
-- to the last digit. A sum that is too large for a double is therefore added in two parts.
local function add_exactly(text, delta)
  local value = tonumber(text or 0)
  local sum = value + delta
  if value < EXACT_END and sum < EXACT_END then
    return int(sum)
  end
  local low_delta = math.fmod(delta, LOW)
  local low = tonumber(string.sub(text, -LOW_DIGITS)) + low_delta
  local carry = math.floor(low / LOW)
  local high = tonumber(string.sub(text, 1, -LOW_DIGITS - 1)) + (delta - low_delta) / LOW + carry
  low = low - carry * LOW
  return high == 0 and int(low) or string.format('%d%09d', high, low)
end
