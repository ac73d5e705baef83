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
import { EARLY_PAUSES_MAX } from '../apply/apply-update.js';
import { AdmissionFault, type Heartbeat, type Log } from '../ports.js';

/** Maximum batches handled concurrently. The batch handler limits the entries. */
const BATCHES_MAX = 2_048;
/** Maximum concurrent scans of all buckets. Each costs Redis some ten milliseconds. */
const LISTS_MAX = 4;

/** Opens the handlers for requests of edges. The bus validates the bodies against the contracts. */
export function serveCalls(bus: Bus, admission: Admission): void {
  bus.serveMany(admissionBatch, (batch, reply) => admission.batch(batch, reply), { concurrencyMax: BATCHES_MAX });
  bus.serve(admissionAuthorize, (question) => admission.authorize(question));
  bus.serve(admissionUsage, (question) => admission.usage(question));
}

/** Opens all other handlers. Their messages are accepted from the start. */
export function serveBus(bus: Bus, admission: Admission, log: Log): void {
  bus.serve(admissionApply, async (update) => {
    await admission.apply(update);
    return { applied: true as const };
  });
  bus.serve(admissionSlots, (question) => toDependencyFault(admission.slots(question)), { concurrencyMax: LISTS_MAX });
  bus.serve(admissionReleaseSlot, (question) => toDependencyFault(admission.releaseSlot(question)), {
    concurrencyMax: LISTS_MAX,
  });
  bus.serve(admissionHeld, (question) => toDependencyFault(admission.held(question)));
  bus.subscribe(billingBalanceSnapshots, async (snapshot) => {
    // A lost balance snapshot costs one query to billing when its holds fall due.
    await admission
      .applySnapshots(snapshot, EARLY_PAUSES_MAX)
      .catch((err: unknown) => log.warn({ err }, 'a balance snapshot was not applied'));
  });
  bus.subscribe(edgeResyncRequest, ({ epochs, run }) => {
    if (run === undefined) admission.observeEpochs(epochs);
    else admission.observeRun(run);
  });
  for (const kind of [edgeHeartbeat, edgeShortHeartbeat]) {
    const take = async (heartbeat: Heartbeat): Promise<void> => {
      await admission
        .heartbeat(heartbeat)
        .catch((err: unknown) => log.warn({ err, edge: heartbeat.edge }, 'a heartbeat was not processed'));
    };
    bus.subscribe(kind, take, { queue: true });
  }
}

/**
 * Converts the fault of an answer for pages and operators.
 * @throws BusFault `dependency_unavailable` while the limit store is away or restoring; the same
 * request succeeds later
 */
export function toDependencyFault<T>(answer: Promise<T>): Promise<T> {
  return answer.catch((error: unknown) => {
    throw error instanceof AdmissionFault ? new BusFault('dependency_unavailable', error.message) : error;
  });
}
