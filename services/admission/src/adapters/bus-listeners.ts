import type { Bus } from '@gateway/bus';
import { keysUsed } from '@gateway/contracts/messages';
import type { Listeners } from '../ports.js';

export function busListeners(bus: Bus): Listeners {
  return { keysUsed: (uses) => bus.publish(keysUsed, {}, { uses: [...uses] }) };
}
