import type { Outbox } from '@gateway/postgres';
import { histogram } from '@gateway/service-kit';
import { changeOf } from '../domain/change-of.js';
import type { InForce } from '../ports.js';

const waits = histogram(
  'gateway_accounts_in_force_seconds',
  'Time from the commit of a change until admission had it, or the answer could not wait any longer',
  [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
  { outcome: ['in_force', 'overdue'] },
);

/** Waits at the outbox until a change is delivered, for `waitMs` at most. */
export function makeInForce(outbox: Pick<Outbox, 'awaitDelivered'>, waitMs: number): InForce {
  return async (account, changed) => {
    const begunMs = performance.now();
    const delivered = await outbox.awaitDelivered(account, changeOf(changed), waitMs);
    waits.of({ outcome: delivered ? 'in_force' : 'overdue' }).observe((performance.now() - begunMs) / 1_000);
    return delivered;
  };
}
