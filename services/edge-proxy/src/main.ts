import { runService } from '@gateway/service-kit';
import { EDGE_FIELDS, checkConfig } from './config.js';
import { STOP_STEP_MS, startEdge } from './service.js';

/** Extra time for a stop, in addition to the drain time and its steps. */
const STOP_ROOM_MS = 5_000;

await runService({
  name: 'edge-proxy',
  fields: EDGE_FIELDS,
  check: checkConfig,
  stopMs: (config) =>
    config.GATEWAY_DRAIN_MS + Object.values(STOP_STEP_MS).reduce((sum, ms) => sum + ms, 0) + STOP_ROOM_MS,
  start: startEdge,
});
