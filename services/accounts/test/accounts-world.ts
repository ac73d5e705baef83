import {
  accountsListAccounts,
  billingApplyCaps,
  billingCloseAccount,
  billingEraseOrigins,
  billingFunding,
  type AnswerBodyOf,
  type BodyOf,
} from '@gateway/contracts/messages';
import { recordingLog, startServiceServers, until, type OwnServer } from '@gateway/testkit';
import { ACCOUNTS_FIELDS } from '../src/config.js';
import { startAccounts, type AccountsOptions } from '../src/service.js';
import { startFakeAdmission } from './fake-admission.js';
import { operatorClient } from './operator-client.js';

export type Funding = AnswerBodyOf<typeof billingFunding>;
export type Closing = AnswerBodyOf<typeof billingCloseAccount> | Error;
export const FUNDED: Funding = {
  walletNanoUsd: 1,
  planActive: false,
  activeKeysMax: 3,
  defaultKeyCapNanoUsd: null,
  inLedger: true,
};

export const DASHBOARD_URL = 'https://gateway.example/app';

const FIRST = { cursor: null, limit: 1 };

export type AccountsWorld = Awaited<ReturnType<typeof startAccountsWorld>>;

/** Starts the servers of accounts, with simulated billing, admission and dashboard. */
export async function startAccountsWorld({ own }: OwnServer = {}) {
  const servers = await startServiceServers({
    own,
    service: 'accounts',
    migrations: new URL('../migrations/', import.meta.url),
  });
  const [billing, dashboard] = await Promise.all([servers.connect('billing'), servers.connect('dashboard')]);
  const log = recordingLog();
  const caps: BodyOf<typeof billingApplyCaps>[] = [];
  let funding: Funding | Error = FUNDED;
  let closing: Closing = { closed: true };

  const answered = <T>(answer: T | Error) =>
    answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  billing.serve(billingFunding, () => answered(funding));
  const known = new Set<string>();
  const isNew = ({ kind, id, version }: { kind: string; id: string; version: number }): boolean =>
    known.size < known.add(`${kind} ${id} ${version}`).size;
  billing.serve(billingApplyCaps, (body) => {
    caps.push({ ...body, caps: body.caps.filter(isNew) });
    return Promise.resolve({ applied: true });
  });
  billing.serve(billingCloseAccount, () => answered(closing));
  const erased: string[] = [];
  billing.serve(billingEraseOrigins, ({ people }) => {
    erased.push(...people);
    return Promise.resolve({ entriesErased: 0 });
  });
  return {
    ...servers,
    billing,
    dashboard,
    client: operatorClient(dashboard),
    admission: await startFakeAdmission(() => servers.connect('admission')),
    /** Log lines of all replicas. */
    log,
    /** Caps that billing received, in the order of arrival. Repeated ones are listed once. */
    caps,
    /** People whose origins billing was requested to erase. */
    erased,
    /** Sets billing's response from now on. Requests come over the bus. */
    fund(next: Funding | Error): void {
      funding = next;
    },
    /** Sets billing's response to closing an account from now on. */
    answerClosing(answer: Closing): void {
      closing = answer;
    },
    /** Starts one more replica of the service. */
    async start({ env = {}, ...options }: AccountsOptions & { readonly env?: Record<string, string> } = {}) {
      const replica = await servers.startReplica(
        ACCOUNTS_FIELDS,
        (context) => startAccounts(context, options),
        { GATEWAY_DASHBOARD_URL: DASHBOARD_URL, ...env },
        log,
      );
      await until('a replica responds', () =>
        dashboard.request(accountsListAccounts, FIRST).catch(() => false as const),
      );
      return replica;
    },
  };
}
