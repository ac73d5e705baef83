import { runService } from '@gateway/service-kit';
import { DASHBOARD_FIELDS } from './config.js';
import { startDashboard, STOP_STEP_MS } from './service.js';

/** Time reserved for a stop in addition to its steps. */
const STOP_ROOM_MS = 2_000;

await runService({
  name: 'dashboard',
  fields: DASHBOARD_FIELDS,
  stopMs: () => Object.values(STOP_STEP_MS).reduce((sum, ms) => sum + ms, 0) + STOP_ROOM_MS,
  start: startDashboard,
});
