// `npm run lost-changes -w services/admission`: lists the changes of accounts, keys and members
// that Redis has and their database has lost (docs/protocol.md#r17).
import { setTimeout as delay } from 'node:timers/promises';
import { connectBus } from '@gateway/bus';
import { readConfig, runAsCommand } from '@gateway/service-kit';
import { createBusOwners } from '../bus/bus-owners.js';
import { RedisClock } from '../limit-store/redis-clock.js';
import { RedisLimitStore } from '../limit-store/redis-limit-store.js';
import { ADMISSION_FIELDS } from '../config.js';
import { findNewerRecords, type RecordVersion } from './newer-records.js';

const EXIT_FOUND = 1;
const DRAIN_MS = 1_000;
const CONNECT_MS = 10_000;
const LOOK_MS = 100;

const nothing = (): void => undefined;
const quiet = { debug: nothing, info: nothing, warn: nothing, error: nothing };

await runAsCommand(async () => {
  const { GATEWAY_NATS_URL, GATEWAY_REDIS_URL } = ADMISSION_FIELDS;
  const config = readConfig({ GATEWAY_NATS_URL, GATEWAY_REDIS_URL }, process.env);
  const limitStore = new RedisLimitStore(config.GATEWAY_REDIS_URL.reveal(), new RedisClock(0), quiet);
  try {
    return await listLostChanges(limitStore, config.GATEWAY_NATS_URL.reveal());
  } finally {
    limitStore.close();
  }
});

async function listLostChanges(limitStore: RedisLimitStore, natsUrl: string): Promise<number> {
  limitStore.open();
  for (let waited = 0; !limitStore.usable(); waited += LOOK_MS) {
    if (waited >= CONNECT_MS) throw new Error(`Redis cannot be used: ${limitStore.problem() ?? 'it does not respond'}`);
    await delay(LOOK_MS);
  }
  const replica = `lost-changes-${process.pid}`;
  const bus = await connectBus({ url: natsUrl, service: 'admission', replica, log: quiet });
  try {
    let found = 0;
    for await (const { kind, id, account, kept, owned } of findNewerRecords({
      limitStore,
      owners: createBusOwners(bus),
    })) {
      found += 1;
      const whose = kind === 'account' ? '' : ` of ${account}`;
      console.log(
        `${kind} ${id}${whose}: ${textOf(kept)} in force, ${owned ? textOf(owned) : 'nothing'} in the database`,
      );
    }
    console.error(`changes in force that the database does not have: ${found}`);
    return found === 0 ? 0 : EXIT_FOUND;
  } finally {
    await bus.drain(DRAIN_MS);
  }
}

function textOf({ version, state }: RecordVersion): string {
  return `version ${version}${state === undefined ? '' : ` (${state})`}`;
}
