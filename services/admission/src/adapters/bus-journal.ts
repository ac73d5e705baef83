import type { Bus } from '@gateway/bus';
import { usageRecorded } from '@gateway/contracts/messages';
import type { Journal } from '../ports.js';

const STORE_MS = 2_000;

export function busJournal(bus: Bus): Journal {
  return {
    async store(shard, events) {
      await bus.store(usageRecorded, { shard }, { events: [...events] }, { timeoutMs: STORE_MS });
    },
  };
}
