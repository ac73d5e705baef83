import { randomBytes } from 'node:crypto';
import type { Bus } from '@gateway/bus';
import { billingFunding } from '@gateway/contracts/messages';
import type { AnswerBodyOf, ServiceName } from '@gateway/contracts/messages';
import { onPool, type Pool, type Tx } from '@gateway/postgres';
import type { RunningServer } from '@gateway/servers';
import { ReadyChecks, readConfig, systemClock, type RunningService } from '@gateway/service-kit';
import { silentLog, startTestBus, startTestDatabase } from '@gateway/testkit';
import { CONFIG_FIELDS } from '../src/config.js';
import { startAccounts } from '../src/wire.js';

export type Funding = AnswerBodyOf<typeof billingFunding>;
export const FUNDED: Funding = {
  walletNanoUsd: 1,
  planActive: false,
  activeKeysMax: 3,
  defaultKeyCapNanoUsd: null,
};

export interface AccountsWorld {
  readonly postgres: RunningServer;
  /** The database as its administrator. */
  readonly pool: Pool;
  readonly sql: Tx;
  /** The same database as the service's own role. */
  readonly roleUrl: string;
  /** What billing answers from now on; it is asked over the bus. */
  fund(funding: Funding | Error): void;
  connect(service: ServiceName): Promise<Bus>;
  start(env?: Record<string, string>): Promise<RunningService>;
  stop(): Promise<void>;
}

/** PostgreSQL with the migrated schema, NATS with the users of all services, and somebody who answers for billing. */
export async function startAccountsWorld(): Promise<AccountsWorld> {
  const [server, bus] = await Promise.all([
    startTestDatabase({ service: 'accounts', migrations: new URL('../migrations/', import.meta.url) }),
    startTestBus(),
  ]);
  const { admin: pool, url: roleUrl } = await server.database();
  const services: RunningService[] = [];
  let funding: Funding | Error = FUNDED;

  (await bus.connect('billing')).serve(billingFunding, () =>
    funding instanceof Error ? Promise.reject(funding) : Promise.resolve(funding),
  );
  return {
    postgres: server.postgres,
    pool,
    sql: onPool(pool),
    roleUrl,
    fund(next) {
      funding = next;
    },
    connect: (service) => bus.connect(service),
    async start(env = {}) {
      const own = { GATEWAY_NATS_URL: bus.urlFor('accounts'), GATEWAY_POSTGRES_URL: roleUrl };
      const service = await startAccounts({
        config: readConfig({ ...CONFIG_FIELDS }, { ...own, ...env }) as Parameters<typeof startAccounts>[0]['config'],
        log: silentLog,
        clock: systemClock,
        replica: `r${randomBytes(4).toString('hex')}`,
        ready: new ReadyChecks(),
        stopping: new AbortController().signal,
      });
      services.push(service);
      return service;
    },
    async stop() {
      await Promise.all(services.map((service) => service.stop()));
      await Promise.all([server.stop(), bus.stop()]);
    },
  };
}
