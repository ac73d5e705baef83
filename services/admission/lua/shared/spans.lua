-- Spans of time that several scripts must agree on.

-- Length of a session window (SESSION_5H_MS of metering).
local SESSION_MS = 18000000
-- An account that nobody uses for so long may be forgotten, and how old its last renewal gets before it is renewed: see keep
-- in holds.lua.
local IDLE_SECONDS = 604800
local STAMP_MS = 86400000
