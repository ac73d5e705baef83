import type { ReportedCostAt } from '@gateway/contracts/operator';
import { AMOUNT_NANO_USD_MAX } from '@gateway/metering';
import { isRecord, type JsonRecord } from '../formats/answer-json.js';

const NANO_PER_UNIT: Readonly<Record<ReportedCostAt['unit'], number>> = { usd: 1e9, usd_ticks: 0.1 };

/**
 * Reads what a response, or an event's part that has its members, says that the provider charges.
 * @returns nano-USD, rounded half up; null: nothing, or no amount
 */
export function readReportedCost(answer: JsonRecord, { path, unit }: ReportedCostAt): number | null {
  let value: unknown = answer;
  for (const name of path.split('.')) value = isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  if (typeof value !== 'number' || !(value >= 0)) return null;
  const nanoUsd = Math.round(value * NANO_PER_UNIT[unit]);
  return nanoUsd <= Number(AMOUNT_NANO_USD_MAX) ? nanoUsd : null;
}
