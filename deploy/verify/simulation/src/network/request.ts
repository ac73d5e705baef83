import type { Host } from '../time/host.js';
import type { VirtualTime } from '../time/virtual-time.js';
import { BusError, onWire, type Network } from './network.js';

export interface RequestParts {
  readonly time: VirtualTime;
  readonly network: Network;
}

/**
 * A question with one answer. `serve` runs in the host that it is sent to; its answer or fault
 * travels back.
 * @param to null: nobody serves it
 */
export function request<A>(
  { time, network }: RequestParts,
  from: Host,
  to: Host | null,
  timeoutMs: number,
  serve: () => Promise<A>,
): Promise<A> {
  return new Promise((resolve, reject) => {
    const late = time.in(from, timeoutMs, () => reject(new BusError('timeout')));
    const settle = (done: () => void): void => {
      late.isCancelled = true;
      done();
    };
    if (network.isCut(from)) return settle(() => reject(new BusError('disconnected')));
    if (to === null) return settle(() => reject(new BusError('no_responders')));
    network.post(from, to, () => {
      serve().then(
        (answer) => {
          const arrived = onWire({ answer });
          network.post(to, from, () => settle(() => resolve(arrived.answer)));
        },
        () => network.post(to, from, () => settle(() => reject(new BusError('fault')))),
      );
    });
  });
}
