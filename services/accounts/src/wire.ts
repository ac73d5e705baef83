import { connectBus } from '@gateway/bus';
import { makeUuidV7 } from '@gateway/contracts/ids';
import { admissionApply } from '@gateway/contracts/messages';
import { createPool, IN_FORCE_MS, startOutbox } from '@gateway/postgres';
import type { RunningService, ServiceContext } from '@gateway/service-kit';
import { makeAccountsStore } from './adapters/accounts-store.js';
import { makeBillingFunding } from './adapters/billing-funding.js';
import { makeIdempotencyStore } from './adapters/idempotency-store.js';
import { makeInForce } from './adapters/in-force.js';
import { deliverChange } from './change/deliver-change.js';
import type { CONFIG_FIELDS } from './config.js';
import { openDoors } from './doors/open-doors.js';
import { startForgetting } from './idempotency/forget-old.js';

const POOL_CONNECTIONS_MAX = 10;
/** Longer than a change takes that waits for billing or until it is in force. */
const DRAIN_MS = 7_000;
/** Admission has a change at most this long after it is back, and after the death of a replica that had taken it. */
const OUTBOX_RETRY_MAX_MS = 1_000;
const OUTBOX_LEASE_MS = 5_000;
/** Longer than admission's own time-out. */
const OUTBOX_DELIVER_MS = 2_000;

export interface AccountsOptions {
  /** How long a change waits until it is in force; IN_FORCE_MS when absent. */
  readonly inForceMs?: number;
}

/** The whole service: adapters, then the doors. */
export async function startAccounts(
  context: ServiceContext<typeof CONFIG_FIELDS>,
  { inForceMs = IN_FORCE_MS }: AccountsOptions = {},
): Promise<RunningService> {
  const { config, clock, log, replica } = context;
  const nowMs = () => clock.nowMs();
  const bus = await connectBus({ url: config.GATEWAY_NATS_URL.reveal(), service: 'accounts', replica, log });
  const pool = createPool(config.GATEWAY_POSTGRES_URL.reveal(), {
    applicationName: `accounts ${replica}`,
    max: POOL_CONNECTIONS_MAX,
    log,
  });
  const outbox = startOutbox({
    pool,
    log,
    retryMaxMs: OUTBOX_RETRY_MAX_MS,
    leaseMs: OUTBOX_LEASE_MS,
    deliverMs: OUTBOX_DELIVER_MS,
    deliver: (row) => deliverChange((records) => bus.request(admissionApply, records), row),
  });
  const kept = makeIdempotencyStore(pool);
  const forgetting = startForgetting({ kept, nowMs, log });
  openDoors(bus, {
    store: makeAccountsStore(pool),
    kept,
    funding: makeBillingFunding(bus),
    inForce: makeInForce(outbox, inForceMs),
    makeId: (prefix) => `${prefix}_${makeUuidV7(nowMs()).replaceAll('-', '')}`,
    makeCommand: () => makeUuidV7(nowMs()),
    nowMs,
    teamsEnabled: config.GATEWAY_TEAMS_ENABLED,
  });
  return {
    async stop() {
      await bus.drain(DRAIN_MS);
      await Promise.all([outbox.stop(), forgetting.stop()]);
      await pool.end();
    },
  };
}
