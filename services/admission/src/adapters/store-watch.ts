import type { Bus } from '@gateway/bus';
import { usageRecorded } from '@gateway/contracts/messages';
import { gauge } from '@gateway/service-kit';
import { brakeReason } from '../domain/brakes.js';
import type { StoreFacts } from '../domain/brakes.js';
import type { Brakes, Log } from '../ports.js';
import type { RedisGate } from './redis-gate.js';

const WATCH_MS = 1_000;

export interface StoreWatch extends Brakes {
  /** Returns at once: what a look in progress still finds is not taken. */
  stop(): void;
}

/**
 * Looks at the memory of Redis and the stream of usage events each second, apart from each other: one that is silent
 * keeps nobody from looking at the other one.
 */
export function watchStores(
  gate: Pick<RedisGate, 'memory'>,
  bus: Pick<Bus, 'streamState'>,
  usageBytesMax: number,
  log: Log,
): StoreWatch {
  let facts: StoreFacts = { redis: null, usage: null };
  let reason: string | null = null;
  let stopped = false;
  const note = (seen: Partial<StoreFacts>): void => {
    if (stopped) return;
    facts = { ...facts, ...seen };
    const found = brakeReason(facts, Date.now());
    if (found !== reason)
      log.warn({ reason: found }, found === null ? 'calls are admitted again' : 'calls are not admitted');
    reason = found;
  };
  const looks = [
    lookEverySecond(async () => note({ redis: await gate.memory() })),
    lookEverySecond(async () => {
      const { bytes, firstAt } = await bus.streamState(usageRecorded.stream);
      note({ usage: { bytes, bytesMax: usageBytesMax, firstAt } });
    }),
  ];
  gauge('gateway_admission_redis_used_bytes', 'Memory that Redis uses', () => facts.redis?.usedBytes ?? 0);
  gauge(
    'gateway_admission_redis_max_bytes',
    'Memory that Redis may use; 0 without a limit',
    () => facts.redis?.maxBytes ?? 0,
  );
  gauge('gateway_admission_braked', 'Whether calls are refused to protect the stores', () => (reason === null ? 0 : 1));
  return {
    engaged: () => reason,
    stop() {
      stopped = true;
      for (const timer of looks) clearInterval(timer);
    },
  };
}

/** A look that takes longer is not begun a second time; one that fails leaves what was seen before. */
function lookEverySecond(look: () => Promise<void>): NodeJS.Timeout {
  let isLooking = false;
  return setInterval(() => {
    if (isLooking) return;
    isLooking = true;
    void look()
      .catch(() => undefined)
      .finally(() => (isLooking = false));
  }, WATCH_MS);
}
