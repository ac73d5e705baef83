import type { Bus } from '@gateway/bus';
import { usageEvents } from '@gateway/contracts/messages';
import { every, gauge, type TimerClock } from '@gateway/service-kit';
import {
  MEMORY_SHARE_MAX,
  STREAM_SHARE_MAX,
  type StoreReadings,
  FillTimeEstimate,
  findBackPressureReason,
} from './rules.js';
import type { BackPressure, Log } from '../ports.js';
import type { RedisLimitStore } from '../limit-store/redis-limit-store.js';

const WATCH_MS = 1_000;

export interface StoreWatch extends BackPressure {
  /** Returns at once. The result of a running poll is ignored. */
  stop(): void;
}

/**
 * Polls the memory of Redis and the stream of usage events each second. The polls are independent,
 * so that one without a response does not delay the other. A failed poll keeps the last values.
 */
export function watchStores(
  limitStore: Pick<RedisLimitStore, 'memory'>,
  bus: Pick<Bus, 'streamState'>,
  usageBytesMax: number,
  log: Log,
  clock: TimerClock,
): StoreWatch {
  let facts: StoreReadings = { redis: null, usage: null };
  let reason: string | null = null;
  let stopped = false;
  const [memoryLeft, streamLeft] = [new FillTimeEstimate(), new FillTimeEstimate()];
  const record = (seen: Partial<StoreReadings>): void => {
    if (stopped) return;
    facts = { ...facts, ...seen };
    const now = clock.nowMs();
    if (seen.redis) memoryLeft.seen(now, seen.redis.usedBytes);
    if (seen.usage) streamLeft.seen(now, seen.usage.bytes);
    const found = findBackPressureReason(facts, now);
    if (found !== reason)
      log.warn({ reason: found }, found === null ? 'requests are admitted again' : 'requests are not admitted');
    reason = found;
  };
  const polls = [
    every(WATCH_MS, async () => record({ redis: await limitStore.memory() }), { clock }),
    every(
      WATCH_MS,
      async () => {
        const { bytes, firstAt } = await bus.streamState(usageEvents.stream);
        record({ usage: { bytes, bytesMax: usageBytesMax, firstAt } });
      },
      { clock },
    ),
  ];
  gauge('gateway_admission_redis_used_bytes', 'Memory that Redis uses', () => facts.redis?.usedBytes ?? 0);
  gauge(
    'gateway_admission_redis_max_bytes',
    'Memory that Redis may use; 0 without a limit',
    () => facts.redis?.maxBytes ?? 0,
  );
  gauge(
    'gateway_admission_store_remaining_seconds',
    'Until a store is so full that no call is admitted, at the rate of the last ten minutes; at most a week',
    () => [
      ['redis', memoryLeft.seconds((facts.redis?.maxBytes ?? 0) * MEMORY_SHARE_MAX)] as const,
      ['stream', streamLeft.seconds(usageBytesMax * STREAM_SHARE_MAX)] as const,
    ],
    { label: 'store' },
  );
  gauge('gateway_admission_back_pressure', 'Whether full stores stop requests', () => (reason === null ? 0 : 1));
  return {
    engaged: () => reason,
    stop() {
      stopped = true;
      for (const poll of polls) void poll.stop();
    },
  };
}
