import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  accountView,
  aliasView,
  alertView,
  auditEntryView,
  ledgerTransactionView,
  modelView,
  createPageSchema,
  slotView,
  sourceHealthView,
  sourceView,
  webhookDeliveryView,
} from '@gateway/contracts/operator';
import {
  overviewView,
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
import { SCENARIOS } from '../fixtures/src/objects.js';
import { startFixtureServer, type FixtureServer } from '../fixtures/src/server.js';

let server: FixtureServer;
beforeAll(async () => {
  server = await startFixtureServer(fileURLToPath(new URL('../dist', import.meta.url)));
});
afterAll(() => server.stop());

/** Checks that pages can show each scenario: no request of a page is refused or malformed. */
test.each(SCENARIOS.filter((scenario) => scenario !== 'visitor'))(
  'responses of scenario %s match the contract',
  async (scenario) => {
    const ask = async (path: string) => {
      const response = await fetch(`${server.url}/api${path}`, { headers: { cookie: `fixture=${scenario}` } });
      return { status: response.status, body: (await response.json()) as unknown };
    };
    const account = `/accounts/acc_${scenario}`;
    const time = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
    const span = `from=${time(-30)}&to=${time(1)}`;
    const { data: records } = pageUsageRecords.parse((await ask(`${account}/usage-records`)).body);
    const { data: refused } = refusals.parse((await ask(`${account}/refusals?${span}`)).body);
    const ids = [...records.map(({ requestId }) => requestId).slice(0, 3), ...(refused[0]?.lastRequestIds ?? [])];
    const checks: [schema: z.ZodType, path: string][] = [
      [pagesConfig, '/config'],
      [pageSession, '/session'],
      [overviewView, `${account}/overview`],
      [usageSeries, `${account}/usage-series?${span}&by=day&groupBy=model`],
      [pageKeys, `${account}/keys`],
      [createPageSchema(ledgerTransactionView), `${account}/ledger`],
      [pageStatement, `${account}/statement?month=${time(0).slice(0, 7)}`],
      [createPageSchema(alertView), `${account}/alerts`],
      [createPageSchema(webhookDeliveryView), `${account}/webhook/deliveries`],
      [pageModels, `${account}/models`],
      [createPageSchema(pageMember), `${account}/members`],
      [createPageSchema(accountView), '/operator/v1/accounts'],
      [createPageSchema(modelView), '/operator/v1/models'],
      [createPageSchema(aliasView), '/operator/v1/aliases'],
      [createPageSchema(sourceView), '/operator/v1/sources'],
      [createPageSchema(sourceHealthView), '/operator/v1/sources/health'],
      [createPageSchema(slotView), '/operator/v1/slots'],
      [createPageSchema(auditEntryView), '/operator/v1/audit'],
      ...ids.map((id): [z.ZodType, string] => [usageLookup, `${account}/usage-records/${id}`]),
    ];
    for (const [schema, path] of checks) {
      const { status, body } = await ask(path);
      // Only owners and admins see this.
      if (scenario === 'member' && status === 403) continue;
      expect({ path, status, issues: schema.safeParse(body).error?.issues ?? [] }).toEqual({
        path,
        status: 200,
        issues: [],
      });
    }
    expect(server.reports).toEqual([]);
  },
);
