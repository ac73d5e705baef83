import type { Bus } from '@gateway/bus';
import { usageEvents } from '@gateway/contracts/messages';
import type { Journal } from '../ports.js';

const STORE_MS = 2_000;

export function busJournal(bus: Bus): Journal {
  return {
    async store(group, events) {
      await bus.store(usageEvents, { group }, { events: [...events] }, { timeoutMs: STORE_MS });
    },
  };
}
