-- Finds balances of ended periods. Months are compared by name, weeks and sessions by their start.
-- A subscription period has ended if it is neither the current nor the next one.
local SPANS_MS = { session_5h = SESSION_MS, weekly = 604800000 }

-- Returns the month of a balance with the cost of a key or a member, or nil for any other balance.
local function month_of_row(row)
  return string.match(row, '^[km]m:.+:(%d%d%d%d%-%d%d)$')
end

-- `month`: the newest month among the account's balances. `periods`: ID, start and end of the
-- subscription's current and next period.
local function has_ended(row, month, periods, now)
  if row == 'wallet' then
    return false
  end
  local row_month = month_of_row(row)
  if row_month then
    return row_month < month
  end
  local kind, start = string.match(row, '^w:([%w_]+):%a+:(%d+)$')
  if SPANS_MS[kind] then
    return tonumber(start) + SPANS_MS[kind] + ENDED_MS <= now
  end
  return not string.find(periods, ' ' .. string.match(row, '[^:]*$') .. ' ', 1, true)
end

-- Returns the ended balances of an account that no running call counts in.
local function ended_rows(account_key, now)
  local rows, held, month = {}, {}, ''
  for _, field in ipairs(redis.call('HKEYS', account_key)) do
    local kind, row = string.sub(field, 1, 2), string.sub(field, 3)
    if kind == 'h:' then
      held[row] = true
    elseif kind == 'v:' then
      rows[#rows + 1] = row
      local row_month = month_of_row(row)
      month = row_month and row_month > month and row_month or month
    end
  end
  local current, following = unpack(redis.call('HMGET', account_key, 'tp', 'tn'))
  local periods = ' ' .. (current or '') .. ' ' .. (following or '') .. ' '
  local ended = {}
  for _, row in ipairs(rows) do
    if not held[row] and has_ended(row, month, periods, now) then
      ended[#ended + 1] = row
    end
  end
  return ended
end
