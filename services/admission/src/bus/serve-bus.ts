import { BusFault, type Bus } from '@gateway/bus';
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
  edgeResyncRequest,
  edgeShortHeartbeat,
} from '@gateway/contracts/messages';
import type { Admission } from '../admission.js';
import { AdmissionFault, type Heartbeat, type Log } from '../ports.js';

/** Batches handled at once; the handler bounds the entries. */
const BATCHES_MAX = 2_048;
/** Scans of all buckets at once: each costs Redis some ten milliseconds. */
const LISTS_MAX = 4;

/**
 * Opens the handlers through which edges ask. Bodies are validated by the bus against the
 * contracts.
 */
export function serveCalls(bus: Bus, admission: Admission): void {
  bus.serveMany(admissionBatch, (batch, reply) => admission.batch(batch, reply), { concurrencyMax: BATCHES_MAX });
  bus.serve(admissionAuthorize, (question) => admission.authorize(question));
  bus.serve(admissionUsage, (question) => admission.usage(question));
}

/** Opens all other handlers: what they bring is taken from the first moment on. */
export function serveBus(bus: Bus, admission: Admission, log: Log): void {
  bus.serve(admissionApply, async (update) => {
    await admission.apply(update);
    return { applied: true as const };
  });
  bus.serve(admissionSlots, (question) => orUnavailable(admission.slots(question)), { concurrencyMax: LISTS_MAX });
  bus.serve(admissionReleaseSlot, (question) => orUnavailable(admission.releaseSlot(question)), {
    concurrencyMax: LISTS_MAX,
  });
  bus.serve(admissionHeld, (question) => orUnavailable(admission.held(question)));
  bus.subscribe(billingBalanceSnapshots, async (snapshot) => {
    // A balance snapshot that is lost costs a question when its holds fall due.
    await admission.applySnapshots(snapshot).catch((err: unknown) => log.warn({ err }, 'a standing was not applied'));
  });
  bus.subscribe(edgeResyncRequest, ({ tokens, run }) => {
    if (run === undefined) admission.hearEpochs(tokens);
    else admission.hearRun(run);
  });
  for (const kind of [edgeHeartbeat, edgeShortHeartbeat]) {
    const take = async (heartbeat: Heartbeat): Promise<void> => {
      await admission
        .heartbeat(heartbeat)
        .catch((err: unknown) => log.warn({ err, edge: heartbeat.edge }, 'a heartbeat was not taken'));
    };
    bus.subscribe(kind, take, { queue: true });
  }
}

/**
 * An answer for people and operators. @throws BusFault `dependency_unavailable` while the limit
 * store is away, or is being restored: the same question is answered later
 */
export function orUnavailable<T>(answer: Promise<T>): Promise<T> {
  return answer.catch((error: unknown) => {
    throw error instanceof AdmissionFault ? new BusFault('dependency_unavailable', error.message) : error;
  });
}
