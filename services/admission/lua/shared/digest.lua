-- What an account was loaded with under an earlier epoch, as far as its owners compare it: the ledger epoch, the versions of its
-- state and its terms, then the name of each balance, member and key that was loaded, with what has its version. Nil, and why, of
-- any other account: `none` is to be confirmed, or it is too `large`.
local DIGEST_FIELDS_MAX = 500

local function digest_of(account_key, mark)
  local under, has_left_behind, ledger_epoch, state_version, terms_version =
    unpack(redis.call('HMGET', account_key, 't', 'g', 'in', 'sv', 'tv'))
  if not under or under == mark or has_left_behind or not (ledger_epoch and state_version and terms_version) then
    return nil, 'none'
  end
  if redis.call('HLEN', account_key) > DIGEST_FIELDS_MAX then
    return nil, 'large'
  end
  local digest = { ledger_epoch, state_version, terms_version }
  local fields = redis.call('HGETALL', account_key)
  for at = 1, #fields, 2 do
    local field, value = fields[at], fields[at + 1]
    local kind = string.sub(field, 1, 2)
    -- A key that was never loaded stays so: its member may be missing here.
    if kind == 'u:' or kind == 'm:' or (kind == 'k:' and string.sub(value, 1, 1) ~= '-') then
      digest[#digest + 1] = field
      digest[#digest + 1] = value
    end
  end
  return digest
end
