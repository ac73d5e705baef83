import type { AnswerBodyOf, admissionUsage } from '@gateway/contracts/messages';
import {
  SESSION_5H_MS,
  WALLET_ROW,
  allotmentRow,
  monthlyWindowRow,
  sessionWindowRow,
  weekStart,
  weeklyWindowRow,
  windowResetsAt,
} from '@gateway/metering';
import type { ReadState } from './read-script.js';
import { type RunningTerms, findTermsAt } from '../limit-store/terms-rules.js';
import type { DecisionContext } from '../records/load-account.js';
import { type PeriodRow, type ReadQuestion, readState } from './read-state.js';

/** Returns the settled numbers that decisions use, without holds (docs/behaviour.md#usage). */
export async function readUsage(
  decider: DecisionContext,
  question: ReadQuestion,
): Promise<AnswerBodyOf<typeof admissionUsage>> {
  const read = await readState(decider, question, neededRows, 'usage_unavailable');
  if (read.kind !== 'authorized') return read;
  const { state } = read;
  return {
    kind: 'usage',
    account: read.account,
    key: read.key,
    now: state.now,
    terms: termsOf(state),
    windows: windowsOf(state),
    allotments: allotmentsOf(state),
    walletNanoUsd: state.rows.get(WALLET_ROW) ?? null,
    keyCapNanoUsd: state.key.capNanoUsd,
    allowedModels: state.key.allowedModels,
  };
}

type Window = RunningTerms['windows'][number];

function neededRows(state: ReadState): PeriodRow[] {
  const { windows, allotments, subscription } = termsOf(state);
  const ofWindows = windows.flatMap((window) => {
    const { row, start } = periodOf(state, window);
    return row === null ? [] : [{ row, start }];
  });
  if (subscription === null) return ofWindows;
  const { id, start } = subscription;
  return [...ofWindows, ...allotments.map(({ model, unit }) => ({ row: allotmentRow(unit, model, id), start }))];
}

function allotmentsOf(state: ReadState) {
  const { allotments, subscription } = termsOf(state);
  if (subscription === null) return [];
  return allotments.map(({ model, unit, limit }) => {
    const used = state.rows.get(allotmentRow(unit, model, subscription.id)) ?? 0;
    return { model, unit, limit, used };
  });
}

function windowsOf(state: ReadState) {
  const { windows, subscription } = termsOf(state);
  return windows.map((window) => {
    const { type, unit, limit, label } = window;
    const session = openSession(state);
    const resetsAt = windowResetsAt(
      type,
      { session5h: session, weekly: weekStart(state.now), subscription },
      state.now,
    );
    return {
      type,
      unit,
      limit,
      label,
      used: usedIn(state, window),
      resetsAt,
      ...(type === 'session_5h' && { begun: session !== null }),
    };
  });
}

function termsOf({ terms, now }: ReadState): RunningTerms {
  return findTermsAt(terms, now).terms;
}

function usedIn(state: ReadState, window: Window): number {
  const { row } = periodOf(state, window);
  if (row === null) return 0;
  return state.rows.get(row) ?? 0;
}

/** Returns the balance and the start of the running period. No balance without an open session. */
function periodOf(state: ReadState, { type, unit }: Window): { row: string | null; start: number } {
  switch (type) {
    case 'session_5h': {
      const session = openSession(state);
      return { row: session === null ? null : sessionWindowRow(unit, session), start: session ?? 0 };
    }
    case 'weekly': {
      const start = weekStart(state.now);
      return { row: weeklyWindowRow(unit, start), start };
    }
    case 'monthly': {
      const { subscription } = termsOf(state);
      return subscription === null
        ? { row: null, start: 0 }
        : { row: monthlyWindowRow(unit, subscription.id), start: subscription.start };
    }
  }
}

function openSession({ session, now }: ReadState): number | null {
  return session !== null && session + SESSION_5H_MS > now ? session : null;
}
