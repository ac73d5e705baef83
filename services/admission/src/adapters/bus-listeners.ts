import type { Bus } from '@gateway/bus';
import { callsRefused, keysUsed } from '@gateway/contracts/messages';
import type { Listeners } from '../ports.js';

/** @param replica name under which this process tells what it refused */
export function busListeners(bus: Bus, replica: string): Listeners {
  return {
    keysUsed: (uses) => bus.publish(keysUsed, {}, { uses: [...uses] }),
    callsRefused: (minute, rows) => bus.publish(callsRefused, {}, { from: replica, minute, rows: [...rows] }),
  };
}
