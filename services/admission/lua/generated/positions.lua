-- Written of src/limit-store/script-rules.ts by UPDATE_GOLDEN=1 before its test. Do not edit.
KEY = {
  token = 1,
  due = 2,
  asked = 3,
  account = 4,
  holds = 5,
  key_record = 6,
  texts = 7,
  size = 7,
}
RUN = {
  run_id = 1,
  clock_offset = 2,
  size = 2,
}
ADMIT = {
  mode = 3,
  is_counted = 4,
  account = 5,
  id = 6,
  id_time = 7,
  valid_from = 8,
  valid_until = 9,
  key_version = 10,
  terms_version = 11,
  key_refusal = 12,
  minute_prefix = 13,
  requests_per_minute = 14,
  fact_refusal = 15,
  funding = 16,
  concurrency = 17,
  worst = 18,
  least = 19,
  shape = 20,
  shape_text = 21,
  edge = 22,
  lease_ms = 23,
  expiry_ms = 24,
  month_start = 25,
  key_cap = 26,
  key_month_row = 27,
  member_month_row = 28,
  allotment = 29,
  session = 30,
  windows = 31,
  size = 31,
}
ADMIT_FIELD = {
  loaded_under = 1,
  loaded_at = 2,
  state = 3,
  slots = 4,
  terms_version = 5,
  session = 6,
  latest = 7,
  renewed_at = 8,
  wallet = 9,
  held_of_wallet = 10,
  held_of_plan = 11,
  key = 12,
  references = 13,
  member = 14,
  key_month = 15,
  held_of_key = 16,
  member_month = 17,
  held_of_member = 18,
  size = 18,
}
RELEASE = {
  account = 3,
  id = 4,
  id_time = 5,
  outcome = 6,
  amount = 7,
  tag = 8,
  size = 8,
}
RELEASE_HOLD = {
  admitted = 1,
  worst = 2,
  plan_max = 3,
  wallet_max = 4,
  session = 5,
  shape = 6,
  shape_text = 7,
  size = 7,
}
APPLY = {
  account = 3,
  ledger_epoch = 4,
  load_token = 5,
  load_start = 6,
  is_complete = 7,
  caught_up = 8,
  account_version = 9,
  account_state = 10,
  state_version = 11,
  terms_version = 12,
  text_id = 13,
  text = 14,
  periods = 15,
  rows = 16,
  members = 17,
  keys = 18,
  closed = 19,
  size = 19,
}
SUMMARY = {
  ledger_epoch = 1,
  state_version = 2,
  terms_version = 3,
  size = 3,
}
SUMMARY_PART = {
  field = 1,
  text = 2,
  size = 2,
}
CONFIRM = {
  load_token = 3,
  load_start = 4,
  ledger_epoch = 5,
  size = 5,
}
CONFIRM_ACCOUNT = {
  version = 1,
  summary = 2,
  size = 2,
}
RECORD = {
  name = 1,
  content = 2,
  version = 3,
  size = 3,
}
HEARTBEAT = {
  accounts = 3,
  holds = 4,
  lease_ms = 5,
  expiry_ms = 6,
  is_restoring = 7,
  size = 7,
}
HEARTBEAT_ACCOUNT = {
  account = 1,
  calls = 2,
  size = 2,
}
HEARTBEAT_CALL = {
  id = 1,
  tag = 2,
  size = 2,
}
CREATE = {
  account = 3,
  id = 4,
  tag = 5,
  edge = 6,
  lease_ms = 7,
  expiry_ms = 8,
  admitted = 9,
  worst = 10,
  plan_max = 11,
  wallet_max = 12,
  session = 13,
  shape = 14,
  shape_text = 15,
  only_restoring = 16,
  size = 16,
}
TAKE = {
  account = 3,
  id = 4,
  size = 4,
}
DUE = {
  replica = 3,
  others_ms = 4,
  own_ms = 5,
  listens = 6,
  silence_ms = 7,
  lease_ms = 8,
  size = 8,
}
SWEEP = {
  accounts = 3,
  holds = 4,
  entries_max = 5,
  asked_again_max = 6,
  silent_until = 7,
  size = 7,
}
TOKEN = {
  action = 3,
  token = 4,
  size = 4,
}
REPLACE = {
  token = 3,
  stale_before = 4,
  size = 4,
}
LEASE = {
  replica = 3,
  lease_ms = 4,
  size = 4,
}
READ = {
  key_field = 3,
  size = 3,
}
LIST = {
  holds = 3,
  cursor = 4,
  pattern = 5,
  entries_max = 6,
  size = 6,
}
