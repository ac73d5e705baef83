import { field, type ConfigOf } from '@gateway/service-kit';
import type { LoadLimits } from './judge-load.js';

const MEBIBYTE = 1024 * 1024;

/** From when on the edge refuses new calls. */
export const LOAD_FIELDS = {
  GATEWAY_SHED_DELAY_MS: field.durationMs({
    doc: 'new calls are refused while the event loop is late by so much; running ones go on',
    default: 1_000,
  }),
  GATEWAY_SHED_MEMORY_BYTES: field.integer({
    doc: 'new calls are refused while the process holds so much memory; 85 % of what the container or machine has when not set',
    min: 64 * MEBIBYTE,
    max: Number.MAX_SAFE_INTEGER,
    default: null,
  }),
} as const;

/** Of the machine's or the container's memory, and of the heap that V8 allows itself. */
export const MEMORY_SHARE_MAX = 0.85;
const MEMORY_SHARE_RECOVERED = 0.75;
/** Below so much of the delay that begins it. */
const DELAY_PART_RECOVERED = 0.25;
const READINGS_TO_BEGIN = 3;
const READINGS_TO_END = 10;

export function loadLimitsOf(config: Pick<ConfigOf<typeof LOAD_FIELDS>, 'GATEWAY_SHED_DELAY_MS'>): LoadLimits {
  return {
    delayMsMax: config.GATEWAY_SHED_DELAY_MS,
    delayMsRecovered: config.GATEWAY_SHED_DELAY_MS * DELAY_PART_RECOVERED,
    memoryShareMax: MEMORY_SHARE_MAX,
    memoryShareRecovered: MEMORY_SHARE_RECOVERED,
    readingsToBegin: READINGS_TO_BEGIN,
    readingsToEnd: READINGS_TO_END,
  };
}
