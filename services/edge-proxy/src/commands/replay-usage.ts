// `npm run replay-usage -w services/edge-proxy -- < log`: stores the usage events that edges wrote
// to their logs because NATS was unavailable when they stopped.
import { connectBus } from '@gateway/bus';
import { COMMON_FIELDS, createLogger, readConfig, systemClock } from '@gateway/service-kit';
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import { makeBusClient } from '../bus/bus-client.js';
import { TickEnd } from '../admission/tick-batch.js';
import { replayUsage } from '../journal/replay-usage.js';
import { UsageJournal } from '../journal/store-usage.js';

const DRAIN_MS = 3_000;

try {
  const { GATEWAY_NATS_URL } = readConfig({ GATEWAY_NATS_URL: COMMON_FIELDS.GATEWAY_NATS_URL }, process.env);
  const replica = `replay-${randomBytes(4).toString('hex')}`;
  const log = createLogger({ service: 'edge-proxy', replica, level: 'error' });
  const bus = await connectBus({ url: GATEWAY_NATS_URL.reveal(), service: 'edge-proxy', replica, log });
  const journal = new UsageJournal({
    bus: makeBusClient(bus),
    tickEnd: new TickEnd(),
    timers: systemClock,
    random: Math.random,
    onFailedTry: (code) => console.error(`not stored (${code}); retrying`),
  });
  const { stored, others, failed, problems } = await replayUsage(createInterface({ input: process.stdin }), journal);
  await bus.drain(DRAIN_MS);
  for (const problem of problems) console.error(problem);
  console.log(`${stored} events stored, ${others} other lines, ${failed} unreadable lines`);
  process.exit(failed === 0 ? 0 : 1);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
}
