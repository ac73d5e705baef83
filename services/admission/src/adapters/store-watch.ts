import type { Bus } from '@gateway/bus';
import { usageRecorded } from '@gateway/contracts/messages';
import { gauge } from '@gateway/service-kit';
import { brakeReason } from '../domain/brakes.js';
import type { StoreFacts } from '../domain/brakes.js';
import type { Brakes, Log } from '../ports.js';
import type { RedisGate } from './redis-gate.js';

const WATCH_MS = 1_000;

export interface StoreWatch extends Brakes {
  stop(): Promise<void>;
}

/** Looks at the memory of Redis and the stream of usage events each second. */
export function watchStores(gate: RedisGate, bus: Bus, usageBytesMax: number, log: Log): StoreWatch {
  let facts: StoreFacts = { redis: null, usage: null };
  let reason: string | null = null;
  let looking: Promise<void> = Promise.resolve();
  const look = async (): Promise<void> => {
    const [redis, usage] = await Promise.all([
      gate.memory().catch(() => facts.redis),
      bus.streamState(usageRecorded.stream).catch(() => null),
    ]);
    facts = {
      redis,
      usage: usage ? { bytes: usage.bytes, bytesMax: usageBytesMax, firstAt: usage.firstAt } : facts.usage,
    };
    const found = brakeReason(facts, Date.now());
    if (found !== reason)
      log.warn({ reason: found }, found === null ? 'calls are admitted again' : 'calls are not admitted');
    reason = found;
  };
  const timer = setInterval(() => {
    looking = looking.then(look);
  }, WATCH_MS);
  gauge('gateway_admission_redis_used_bytes', 'Memory that Redis uses', () => facts.redis?.usedBytes ?? 0);
  gauge(
    'gateway_admission_redis_max_bytes',
    'Memory that Redis may use; 0 without a limit',
    () => facts.redis?.maxBytes ?? 0,
  );
  gauge('gateway_admission_braked', 'Whether calls are refused to protect the stores', () => (reason === null ? 0 : 1));
  return {
    engaged: () => reason,
    async stop() {
      clearInterval(timer);
      await looking;
    },
  };
}
