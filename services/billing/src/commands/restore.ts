// `npm run restored -- [--accept-loss]`: declares a ledger that was restored from a backup to be
// the ledger, before billing is started on it.
import { parseArgs } from 'node:util';
import { connectBus } from '@gateway/bus';
import { DATABASE_BUCKET, usageRecorded } from '@gateway/contracts/messages';
import { forgetTimelines } from '@gateway/postgres';
import { COMMON_FIELDS, readConfig } from '@gateway/service-kit';
import { restoreLedger, type StoredMessages } from './restore-ledger.js';
import { runCommand } from './run-command.js';

const EXIT_GAP = 1;
const DRAIN_MS = 1_000;

const { values } = parseArgs({ options: { 'accept-loss': { type: 'boolean', default: false } } });

await runCommand(async ({ restore }) => {
  const outcome = await restoreLedger(restore, await storedMessages(), values['accept-loss']);
  if (outcome.kind === 'gap') {
    console.error(
      `${outcome.lost} messages have left the stream that the backup does not know: it was made at message ` +
        `${outcome.floor}, the stream begins at ${outcome.first}. Restore a newer backup, or accept the loss: --accept-loss`,
    );
    return EXIT_GAP;
  }
  console.log(
    `incarnation ${outcome.ledgerEpoch}: ${outcome.toSettle} messages will be settled again once billing runs`,
  );
  console.log(`${outcome.accounts} accounts will be loaded again by admission; ${outcome.lost} messages are lost`);
  console.log('wallet entries made since the backup are not in the stream: repeat them under their references');
  return 0;
});

async function storedMessages(): Promise<StoredMessages> {
  const { GATEWAY_NATS_URL, GATEWAY_STREAM_REPLICAS } = COMMON_FIELDS;
  const config = readConfig({ GATEWAY_NATS_URL, GATEWAY_STREAM_REPLICAS }, process.env);
  const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const bus = await connectBus({
    url: config.GATEWAY_NATS_URL.reveal(),
    service: 'billing',
    replica: `restored-${process.pid}`,
    log: quiet,
    bucketReplicas: config.GATEWAY_STREAM_REPLICAS,
  });
  try {
    // A copy of before may be on a lower timeline than the database that it replaces.
    await forgetTimelines(bus.lookUpBucket(DATABASE_BUCKET));
    return await bus.streamState(usageRecorded.stream);
  } finally {
    await bus.drain(DRAIN_MS);
  }
}
