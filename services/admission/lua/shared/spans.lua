-- Spans of time that several scripts must agree on.

-- Length of a session window (SESSION_5H_MS of metering).
local SESSION_MS = 18000000
-- Within which what was asked for must be written.
local LOAD_MS = 5000
-- An account that nobody uses for so long may be forgotten, and how old its last renewal gets before it is renewed: see keep
-- in holds.lua.
local IDLE_SECONDS = 604800
local STAMP_MS = 86400000
-- How often rows of ended periods are let go, and how long after its end a week or a session counts as ended: see ended-rows.lua.
local LET_GO_MS = 86400000
local ENDED_MS = 3600000
