-- Summarizes the loaded data of an account under an earlier epoch, as far as its owners compare
-- them. Lines: the ledger epoch, the versions of state and terms, then the field name and the text
-- with the version of each loaded balance, member and key. The summary is '' for any other account,
-- and '-' for an account with too many parts.
local SUMMARY_FIELDS_MAX = 200
local BALANCE, MEMBER, KEY_FIELD, COLON, DASH = string.byte('umk:-', 1, 5)

local function summary_of(account_key, suffix)
  local under, has_left_behind, ledger_epoch, state_version, terms_version =
    unpack(redis.call('HMGET', account_key, 't', 'g', 'in', 'sv', 'tv'))
  if not under or under == suffix or has_left_behind or not (ledger_epoch and state_version and terms_version) then
    return ''
  end
  if redis.call('HLEN', account_key) > SUMMARY_FIELDS_MAX then
    return '-'
  end
  local lines, size = { ledger_epoch, state_version, terms_version }, SUMMARY.size
  local fields = redis.call('HGETALL', account_key)
  for index = 2, #fields, 2 do
    local field, text = fields[index - 1], fields[index]
    local kind, colon = string.byte(field, 1, 2)
    -- Skips a key that was never loaded. It stays unloaded, because its member may be missing here.
    if colon == COLON and (kind == BALANCE or kind == MEMBER or kind == KEY_FIELD and string.byte(text) ~= DASH) then
      lines[size + SUMMARY_PART.field] = field
      lines[size + SUMMARY_PART.text] = text
      size = size + SUMMARY_PART.size
    end
  end
  return table.concat(lines, '\n')
end
