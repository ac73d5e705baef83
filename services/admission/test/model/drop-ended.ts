import { SESSION_5H_MS, WEEK_MS, parseRowName } from '@gateway/metering';
import { heldSums, type ModelState } from './model-state.js';

const DROP_ENDED_MS = 86_400_000;
const ENDED_MS = 3_600_000;

/**
 * Deletes ended balances of an account once a day, when a change of balances arrives. The account
 * then counts as loaded now.
 */
export function dropEnded(state: ModelState, now: number): void {
  if (state.loadedAt === null || now - state.loadedAt < DROP_ENDED_MS) return;
  const held = heldSums(state);
  const months = [...state.rows.keys()].map((name) => monthOfRow(name) ?? '').sort();
  const { subscription, next } = state.terms.value;
  const periods = [subscription?.id, next?.subscription.id];
  for (const [name, { version }] of [...state.rows]) {
    if (name in held || !hasEnded(name, months.at(-1) ?? '', periods, now)) continue;
    state.rows.delete(name);
    state.dropped.set(name, version);
    state.loadedVersion = Math.max(state.loadedVersion, version);
  }
  state.loadedAt = now;
}

function hasEnded(name: string, month: string, periods: readonly (string | undefined)[], now: number): boolean {
  const row = parseRowName(name);
  if (row === null || row.kind === 'wallet') return false;
  if (row.kind === 'key_month' || row.kind === 'member_month') return row.month < month;
  if (row.kind === 'allotment' || row.type === 'monthly') return !periods.includes(row.subscriptionPeriodId);
  return row.start + (row.type === 'weekly' ? WEEK_MS : SESSION_5H_MS) + ENDED_MS <= now;
}

function monthOfRow(name: string): string | null {
  const row = parseRowName(name);
  return row?.kind === 'key_month' || row?.kind === 'member_month' ? row.month : null;
}
