-- What an account was loaded with under an earlier epoch, as far as its owners compare it, in lines: the ledger epoch, the versions
-- of its state and its terms, then the name of each balance, member and key that was loaded, and what has its version. Of any other
-- account '', and of one with too many parts '-'.
local SUMMARY_FIELDS_MAX = 200

local function summary_of(account_key, mark)
  local under, has_left_behind, ledger_epoch, state_version, terms_version =
    unpack(redis.call('HMGET', account_key, 't', 'g', 'in', 'sv', 'tv'))
  if not under or under == mark or has_left_behind or not (ledger_epoch and state_version and terms_version) then
    return ''
  end
  if redis.call('HLEN', account_key) > SUMMARY_FIELDS_MAX then
    return '-'
  end
  local lines, size, field = { ledger_epoch, state_version, terms_version }, SUMMARY.size, ''
  for index, text in ipairs(redis.call('HGETALL', account_key)) do
    if index % 2 == 1 then
      field = text
    else
      local kind = string.sub(field, 1, 2)
      -- A key that was never loaded stays so: its member may be missing here.
      if kind == 'u:' or kind == 'm:' or (kind == 'k:' and string.sub(text, 1, 1) ~= '-') then
        lines[size + SUMMARY_PART.field] = field
        lines[size + SUMMARY_PART.text] = text
        size = size + SUMMARY_PART.size
      end
    end
  end
  return table.concat(lines, '\n')
end
