-- Time spans that several scripts share.

-- Length of a session window (SESSION_5H_MS of metering).
local SESSION_MS = 18000000
-- Maximum time between a request for data and the write.
local LOAD_MS = 5000
-- An unused account expires after IDLE_SECONDS. The expiry is extended when the last extension is
-- at least STAMP_MS old: see keep in holds.lua.
local IDLE_SECONDS = 604800
local STAMP_MS = 86400000
-- Interval for deleting the balances of ended periods, and the time after its end at which a week
-- or a session counts as ended: see ended-rows.lua.
local DROP_ENDED_MS = 86400000
local ENDED_MS = 3600000
