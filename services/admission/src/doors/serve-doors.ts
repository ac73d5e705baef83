import type { Bus } from '@gateway/bus';
import {
  admissionApply,
  admissionAuthorize,
  admissionBatch,
  admissionHeld,
  admissionReleaseSlot,
  admissionSlots,
  admissionUsage,
  billingBalanceSnapshots,
  edgeHeartbeat,
} from '@gateway/contracts/messages';
import type { Admission } from '../admission.js';
import type { Log } from '../ports.js';

/** Batches handled at once; the desk bounds the entries. */
const BATCHES_MAX = 2_048;
/** Scans of all buckets at once: each costs Redis some ten milliseconds. */
const LISTS_MAX = 4;

/** Opens the doors through which edges ask. Bodies are validated by the bus against the contracts. */
export function serveCallDoors(bus: Bus, admission: Admission): void {
  bus.serveMany(admissionBatch, (batch, reply) => admission.batch(batch, reply), { concurrencyMax: BATCHES_MAX });
  bus.serve(admissionAuthorize, (question) => admission.authorize(question));
  bus.serve(admissionUsage, (question) => admission.usage(question));
}

/** Opens all other doors: what they bring is taken from the first moment on. */
export function serveDoors(bus: Bus, admission: Admission, log: Log): void {
  bus.serve(admissionApply, async (news) => {
    await admission.apply(news);
    return { applied: true as const };
  });
  bus.serve(admissionSlots, (question) => admission.slots(question), { concurrencyMax: LISTS_MAX });
  bus.serve(admissionReleaseSlot, (question) => admission.releaseSlot(question), { concurrencyMax: LISTS_MAX });
  bus.serve(admissionHeld, (question) => admission.held(question));
  bus.subscribe(billingBalanceSnapshots, async (standing) => {
    // A standing that is lost costs a question when its holds fall due.
    await admission.standing(standing).catch((err: unknown) => log.warn({ err }, 'a standing was not applied'));
  });
  bus.subscribe(
    edgeHeartbeat,
    async (beat) => {
      await admission.beat(beat).catch((err: unknown) => log.warn({ err, edge: beat.edge }, 'a beat was not taken'));
    },
    { queue: true },
  );
}
