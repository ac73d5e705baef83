import type { Person } from './prepare-person.js';

const DAY_MS = 86_400_000;

/**
 * A request of the pages. Without the minimum of entries, an empty response would count as fast.
 */
export interface Case {
  readonly name: string;
  /** Below the account, with the query. */
  readonly path: string;
  readonly entriesMin: number;
}

/** The part of a list that the cases use. */
export interface FirstList {
  readonly data: readonly { readonly requestId: string }[];
  readonly next_cursor: string;
}

export const FIRST_LIST: Case = { name: 'Usage: newest 50', path: '/usage-records?limit=50', entriesMin: 50 };

/** Returns each list and chart of the pages, with the queries of the pages. */
export function listCases({ keys, models, members }: Person, first: FirstList): Case[] {
  const now = Date.now();
  const iso = (ms: number): string => encodeURIComponent(new Date(ms).toISOString());
  const span = (days: number): string => `from=${iso(now - days * DAY_MS)}&to=${iso(now + DAY_MS)}`;
  const month = new Date(now).toISOString().slice(0, 7);
  const list = (more: string): string => `${FIRST_LIST.path}&${more}`;
  const series = (days: number, by: string, group: string) => `/usage-series?${span(days)}&by=${by}&groupBy=${group}`;
  const cases: readonly (readonly [name: string, path: string, entriesMin: number])[] = [
    ['Usage: next 50', list(`cursor=${encodeURIComponent(first.next_cursor)}`), 50],
    ['Usage: 50 of ten days ago', list(`to=${iso(now - 10 * DAY_MS)}`), 50],
    ['Usage: of one key', list(`keyId=${keys[7]}`), 50],
    ['Usage: of one model', list(`modelId=${encodeURIComponent(models[3] ?? '')}`), 50],
    ['Usage: of one member', list(`memberId=${members[0]}`), 50],
    ['Usage: an outcome that no call has', list('outcome=expired'), 0],
    ['Usage: a key that was never used', list('keyId=key_unused'), 0],
    ['Usage: one call with its ledger', `/usage-records/${first.data[0]?.requestId}`, 0],
    ['Overview: 90 days by day and model', series(90, 'day', 'model'), 100],
    ['Overview: 30 days by day and key', series(30, 'day', 'key'), 100],
    ['Overview: 7 days by hour and model', series(7, 'hour', 'model'), 500],
    ['Overview: 24 hours by hour', series(1, 'hour', 'none'), 20],
    ['Overview: windows, wallet and plan', '/overview', 0],
    ['Overview: refused calls of 30 days', `/refusals?${span(30)}`, 50],
    ['Keys with their month', '/keys?limit=200', keys.length],
    ['Billing: ledger, newest 50', '/ledger?limit=50', 50],
    ['Billing: statement of the month', `/statement?month=${month}`, 0],
  ];
  return [FIRST_LIST, ...cases.map(([name, path, entriesMin]) => ({ name, path, entriesMin }))];
}
