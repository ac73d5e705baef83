import { Secret, type Clock } from '@gateway/service-kit';
import { silentLog, startServiceServers, type OwnServer } from '@gateway/testkit';
import { type BillingOptions, startBilling } from '../src/service.js';
import { LEDGER } from './ledger-world.js';

const STREAM_BYTES = 64 * 1024 * 1024;
/** The key that seals the world's webhook secrets. */
export const WEBHOOK_KEY = new Secret(Buffer.alloc(32, 9));

export type BillingWorld = Awaited<ReturnType<typeof startBillingWorld>>;

/** Starts the servers that billing needs; a test acts as the other services. */
export async function startBillingWorld({ own }: OwnServer = {}) {
  const { database: ledger, ...servers } = await startServiceServers({ ...LEDGER, own });
  return {
    ...servers,
    ledger,
    start: (replica: string, clock: Partial<Clock> = {}, changes: Partial<BillingOptions> = {}) =>
      servers.startReplica({}, ({ ready, stopping }) =>
        startBilling({
          natsUrl: servers.env.GATEWAY_NATS_URL,
          postgresUrl: ledger.url,
          streamBytesMax: STREAM_BYTES,
          streamReplicas: 1,
          webhookKeys: { privateKey: { current: WEBHOOK_KEY, previous: null } },
          privateAllowed: false,
          replica,
          log: silentLog,
          clock: { ...servers.clock, ...clock },
          ready,
          stopping,
          ...changes,
        }),
      ),
  };
}
