import type { AccountTerms, KeyRecord } from '@gateway/contracts/messages';
import {
  SESSION_5H_MS,
  WEEK_MS,
  allotmentRow,
  monthlyWindowRow,
  sessionWindowRow,
  weekStart,
  weeklyWindowRow,
} from '@gateway/metering';
import type { ModelState } from './model-state.js';
import { termsAt } from './model-terms.js';

/**
 * The answer to the usage endpoint: the settled numbers that decisions use, without holds
 * (docs/behaviour.md#usage).
 */
export function modelUsage(state: ModelState, key: KeyRecord, now: number) {
  return {
    now,
    terms: termsAt(state.terms.value, now),
    windows: windowsOf(state, now).map(({ window, row, resetsAt }) => {
      const { type, unit, limit, label } = window;
      const begun = type === 'session_5h' ? { begun: row !== null } : {};
      return { type, unit, limit, label, used: (row && state.rows.get(row.name)?.value) ?? 0, resetsAt, ...begun };
    }),
    allotments: allotmentsOf(state, now).map(({ allotment: { model, unit, limit }, row }) => {
      return { model, unit, limit, used: state.rows.get(row.name)?.value ?? 0 };
    }),
    walletNanoUsd: state.rows.get('wallet')?.value ?? null,
    keyCapNanoUsd: key.capNanoUsd,
    allowedModels: key.allowedModels,
  };
}

/** Balances that the answer needs, with the start of their periods. */
export function usageRows(state: ModelState, now: number): { name: string; start: number }[] {
  const windows = windowsOf(state, now).flatMap(({ row }) => row ?? []);
  return [...windows, ...allotmentsOf(state, now).map(({ row }) => row)];
}

/** Returns why the key may not read, or null. */
export function usageRefusal(state: ModelState, key: KeyRecord, digest: string, now: number) {
  if (key.digest !== digest) return { code: 'invalid_api_key', facts: {} };
  if (key.state !== 'active') return { code: 'key_inactive', facts: {} };
  if (key.expiresAt !== null && key.expiresAt <= now) return { code: 'key_expired', facts: {} };
  return state.record?.state === 'active' ? null : { code: 'account_suspended', facts: {} };
}

function allotmentsOf(state: ModelState, now: number) {
  const { subscription: plan, allotments } = termsAt(state.terms.value, now);
  if (plan === null) return [];
  return allotments.map((allotment) => {
    const name = allotmentRow(allotment.unit, allotment.model, plan.id);
    return { allotment, row: { name, start: plan.start } };
  });
}

function windowsOf(state: ModelState, now: number) {
  const { subscription: plan, windows } = termsAt(state.terms.value, now);
  return plan === null ? [] : windows.map((window) => ({ window, ...periodOf(window, plan, state, now) }));
}

function periodOf(
  { type, unit }: AccountTerms['windows'][number],
  plan: NonNullable<AccountTerms['subscription']>,
  { session }: ModelState,
  now: number,
): { row: { name: string; start: number } | null; resetsAt: number } {
  if (type === 'monthly')
    return { row: { name: monthlyWindowRow(unit, plan.id), start: plan.start }, resetsAt: plan.end };
  if (type === 'weekly') {
    const start = weekStart(now);
    return { row: { name: weeklyWindowRow(unit, start), start }, resetsAt: start + WEEK_MS };
  }
  if (session === null || session + SESSION_5H_MS <= now) return { row: null, resetsAt: now + SESSION_5H_MS };
  return { row: { name: sessionWindowRow(unit, session), start: session }, resetsAt: session + SESSION_5H_MS };
}
