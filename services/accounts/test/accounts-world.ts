import { randomBytes } from 'node:crypto';
import type { Bus } from '@gateway/bus';
import {
  accountsListAccounts,
  billingApplyCaps,
  billingCloseAccount,
  billingFunding,
  type AnswerBodyOf,
  type BodyOf,
  type ServiceName,
} from '@gateway/contracts/messages';
import { onPool, type Pool, type Tx } from '@gateway/postgres';
import type { RunningServer } from '@gateway/servers';
import { BASE_FIELDS, ReadyChecks, readConfig, systemClock, type RunningService } from '@gateway/service-kit';
import { recordingLog, startTestBus, startTestDatabase, until, type RecordingLog } from '@gateway/testkit';
import { ACCOUNTS_FIELDS } from '../src/config.js';
import { startAccounts, type AccountsOptions } from '../src/service.js';
import { startFakeAdmission, type FakeAdmission } from './fake-admission.js';
import { operatorClient, type OperatorClient } from './operator-client.js';

export type Funding = AnswerBodyOf<typeof billingFunding>;
export type Closing = AnswerBodyOf<typeof billingCloseAccount> | Error;
export const FUNDED: Funding = {
  walletNanoUsd: 1,
  planActive: false,
  activeKeysMax: 3,
  defaultKeyCapNanoUsd: null,
};

export const DASHBOARD_URL = 'https://gateway.example/app';

const FIRST = { cursor: null, limit: 1 };

export interface AccountsWorld {
  readonly postgres: RunningServer;
  /** The database as its administrator. */
  readonly pool: Pool;
  readonly sql: Tx;
  /** The same database as the service's own role. */
  readonly roleUrl: string;
  /** What billing answers from now on; requests come over the bus. */
  fund(funding: Funding | Error): void;
  /** What billing answers to closing an account from now on. */
  answerClosing(answer: Closing): void;
  /** Caps that billing received, in the order of arrival. */
  readonly caps: readonly BodyOf<typeof billingApplyCaps>[];
  /** A bus with billing's rights. */
  readonly billing: Bus;
  connect(service: ServiceName): Promise<Bus>;
  /** A bus with the dashboard's rights. */
  readonly dashboard: Bus;
  readonly client: OperatorClient;
  readonly admission: FakeAdmission;
  /** What all replicas logged. */
  readonly log: RecordingLog;
  /** One more replica of the service. */
  start(options?: AccountsOptions & { readonly env?: Record<string, string> }): Promise<RunningService>;
  stop(): Promise<void>;
}

/** PostgreSQL with the migrated schema, NATS with the users of all services, somebody in billing's and in admission's place. */
export async function startAccountsWorld(): Promise<AccountsWorld> {
  const [server, bus] = await Promise.all([
    startTestDatabase({ service: 'accounts', migrations: new URL('../migrations/', import.meta.url) }),
    startTestBus(),
  ]);
  const { admin: pool, url: roleUrl } = await server.database();
  const services = new Set<RunningService>();
  const log = recordingLog();
  const admission = await startFakeAdmission(bus.urlFor('admission'));
  const dashboard = await bus.connect('dashboard');
  let funding: Funding | Error = FUNDED;

  let closing: Closing = { closed: true };

  const billing = await bus.connect('billing');
  const answered = <T>(answer: T | Error) =>
    answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  billing.serve(billingFunding, () => answered(funding));
  const caps: BodyOf<typeof billingApplyCaps>[] = [];
  billing.serve(billingApplyCaps, (body) => {
    caps.push(body);
    return Promise.resolve({ applied: true });
  });
  billing.serve(billingCloseAccount, () => answered(closing));
  return {
    postgres: server.postgres,
    pool,
    sql: onPool(pool),
    roleUrl,
    fund(next) {
      funding = next;
    },
    answerClosing(answer) {
      closing = answer;
    },
    caps,
    billing,
    connect: (service) => bus.connect(service),
    dashboard,
    client: operatorClient(dashboard),
    admission,
    log,
    async start({ env = {}, ...options } = {}) {
      const own = {
        GATEWAY_NATS_URL: bus.urlFor('accounts'),
        GATEWAY_POSTGRES_URL: roleUrl,
        GATEWAY_DASHBOARD_URL: DASHBOARD_URL,
      };
      const service = await startAccounts(
        {
          config: readConfig({ ...BASE_FIELDS, ...ACCOUNTS_FIELDS }, { ...own, ...env }),
          log,
          clock: systemClock,
          replica: `r${randomBytes(4).toString('hex')}`,
          ready: new ReadyChecks(),
          stopping: new AbortController().signal,
        },
        options,
      );
      const once: RunningService = {
        async stop() {
          if (services.delete(once)) await service.stop();
        },
      };
      services.add(once);
      await until('somebody answers', () => dashboard.request(accountsListAccounts, FIRST).catch(() => false as const));
      return once;
    },
    async stop() {
      await Promise.all([...services].map((service) => service.stop()));
      await admission.stop();
      await Promise.all([server.stop(), bus.stop()]);
    },
  };
}
