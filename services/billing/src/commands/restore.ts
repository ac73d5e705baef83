// `npm run restored -- [--accept-loss]`: declares a ledger that was restored from a backup to be
// the ledger. Run it before billing starts.
import { parseArgs } from 'node:util';
import { BusFault, connectBus, type Bus } from '@gateway/bus';
import { DATABASE_BUCKET, usageEvents } from '@gateway/contracts/messages';
import { forgetTimelines } from '@gateway/postgres';
import { COMMON_FIELDS, readConfig } from '@gateway/service-kit';
import { createKeptPosition } from '../recovery/kept-position.js';
import { computePositionToReach, restoreLedger, type StoredMessages } from './restore-ledger.js';
import { runCommand } from './run-command.js';

const EXIT_GAP = 1;
const DRAIN_MS = 1_000;
const NOTHING_STORED: StoredMessages = { firstSequence: 1, lastSequence: 0, firstAt: null, lastAt: null };

const { values } = parseArgs({ options: { 'accept-loss': { type: 'boolean', default: false } } });

await runCommand(async ({ restore }) => {
  const bus = await connect();
  try {
    // An older copy may have a lower timeline than the database that it replaces.
    const bucket = bus.lookUpBucket(DATABASE_BUCKET);
    await forgetTimelines(bucket);
    const stored = await storedMessages(bus);
    const outcome = await restoreLedger(restore, stored, values['accept-loss']);
    if (outcome.kind === 'gap') {
      console.error(
        `${outcome.lost} messages newer than the backup have left the stream: the backup was made at message ` +
          `${outcome.floor}, the stream begins at ${outcome.first}. Restore a newer backup, or accept the loss: --accept-loss`,
      );
      return EXIT_GAP;
    }
    await createKeptPosition(bucket).write(computePositionToReach(outcome.ledgerEpoch, stored));
    console.log(
      `ledger epoch ${outcome.ledgerEpoch}: ${outcome.toSettle} messages will be settled again once billing runs`,
    );
    console.log(`${outcome.accounts} accounts will be loaded again by admission; ${outcome.lost} messages are lost`);
    console.log('wallet entries made since the backup are not in the stream: repeat them under their references');
    return 0;
  } finally {
    await bus.drain(DRAIN_MS);
  }
});

function connect(): Promise<Bus> {
  const { GATEWAY_NATS_URL, GATEWAY_STREAM_REPLICAS } = COMMON_FIELDS;
  const config = readConfig({ GATEWAY_NATS_URL, GATEWAY_STREAM_REPLICAS }, process.env);
  const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };
  return connectBus({
    url: config.GATEWAY_NATS_URL.reveal(),
    service: 'billing',
    replica: `restored-${process.pid}`,
    log: quiet,
    bucketReplicas: config.GATEWAY_STREAM_REPLICAS,
  });
}

/** If the bus was lost too, the stream does not exist until billing creates it. */
function storedMessages(bus: Bus): Promise<StoredMessages> {
  return bus.streamState(usageEvents.stream).catch((error: unknown) => {
    if (error instanceof BusFault && error.code === 'stream_missing') return NOTHING_STORED;
    throw error;
  });
}
