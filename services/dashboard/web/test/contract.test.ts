import { expect, test } from '@jest/globals';
import { alertView, ledgerTransactionView, pageOf, webhookDeliveryView } from '@gateway/contracts/operator';
import {
  overviewView,
  pageKeyCreated,
  pageStatement,
  pageKeys,
  pageMember,
  pageModels,
  pageSession,
  pageUsageRecords,
  pagesConfig,
  refusals,
  usageLookup,
  usageSeries,
} from '@gateway/contracts/pages';
import type { z } from 'zod';
import { SCENARIOS, answer, makeWorld } from '../fixtures/src/index.js';

const CALLS = 40;

/** The fixtures speak the contract of the pages: pages that are tested with them are tested with what the server answers. */
test.each(SCENARIOS.filter((scenario) => scenario !== 'visitor'))('%s answers as the contract has it', (scenario) => {
  const world = makeWorld(scenario, Date.UTC(2026, 10, 20, 12), CALLS);
  const ask = (method: string, path: string, query = '', body = {}) =>
    answer(world, { method, path, query: new URLSearchParams(query), body });
  const account = `/accounts/${world.account.id}`;
  const span = 'from=2026-10-01T00:00:00.000Z&to=2026-12-01T00:00:00.000Z';
  const checks: [schema: z.ZodType, path: string, query?: string][] = [
    [pagesConfig, '/config'],
    [pageSession, '/session'],
    [overviewView, `${account}/overview`],
    [usageSeries, `${account}/usage-series`, `${span}&by=day&groupBy=model`],
    [refusals, `${account}/refusals`, span],
    [pageKeys, `${account}/keys`],
    [pageUsageRecords, `${account}/usage-records`],
    [pageOf(ledgerTransactionView), `${account}/ledger`],
    [pageStatement, `${account}/statement`, 'month=2026-11'],
    [pageOf(alertView), `${account}/alerts`],
    [pageOf(webhookDeliveryView), `${account}/webhook/deliveries`],
    [pageModels, `${account}/models`],
    [pageOf(pageMember), `${account}/members`],
    ...world.records
      .slice(0, 3)
      .map(({ requestId }): [z.ZodType, string] => [usageLookup, `${account}/usage-records/${requestId}`]),
    ...world.refused
      .slice(0, 1)
      .map(({ requestId }): [z.ZodType, string] => [usageLookup, `${account}/usage-records/${requestId}`]),
  ];
  for (const [schema, path, query] of checks) {
    const answered = ask('GET', path, query);
    // What is for owners and admins only.
    if (scenario === 'member' && answered?.status === 403) continue;
    const parsed = schema.safeParse(answered?.body);
    expect({ path, issues: parsed.error?.issues ?? [] }).toEqual({ path, issues: [] });
  }
  const made = ask('POST', `${account}/keys`, '', { name: 'new' });
  if (made?.status === 201) expect(pageKeyCreated.safeParse(made.body).success).toBe(true);
});
