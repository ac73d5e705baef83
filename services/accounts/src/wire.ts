import { connectBus } from '@gateway/bus';
import { makeUuidV7 } from '@gateway/contracts/ids';
import { createPool } from '@gateway/postgres';
import type { RunningService, ServiceContext } from '@gateway/service-kit';
import { makeAccountsStore } from './adapters/accounts-store.js';
import { makeBillingFunding } from './adapters/billing-funding.js';
import type { CONFIG_FIELDS } from './config.js';
import { openDoors } from './doors/open-doors.js';

const POOL_CONNECTIONS_MAX = 10;
/** Longer than a change takes that waits for billing. */
const DRAIN_MS = 6_000;

/** The whole service: adapters, then the doors. */
export async function startAccounts(context: ServiceContext<typeof CONFIG_FIELDS>): Promise<RunningService> {
  const { config, clock, log, replica } = context;
  const bus = await connectBus({ url: config.GATEWAY_NATS_URL.reveal(), service: 'accounts', replica, log });
  const pool = createPool(config.GATEWAY_POSTGRES_URL.reveal(), {
    applicationName: `accounts ${replica}`,
    max: POOL_CONNECTIONS_MAX,
    log,
  });
  openDoors(bus, {
    store: makeAccountsStore(pool),
    funding: makeBillingFunding(bus),
    makeId: (prefix) => `${prefix}_${makeUuidV7(clock.nowMs()).replaceAll('-', '')}`,
    nowMs: () => clock.nowMs(),
    teamsEnabled: config.GATEWAY_TEAMS_ENABLED,
  });
  return {
    async stop() {
      await bus.drain(DRAIN_MS);
      await pool.end();
    },
  };
}
