import type { Bus, RequestOptions } from '@gateway/bus';
import {
  admissionAuthorize,
  admissionBatch,
  admissionUsage,
  catalogMirrored,
  edgeHeartbeat,
  edgeHealth,
  usageRecorded,
} from '@gateway/contracts/messages';
import type { AskedReplica, BusLine } from '../ports.js';

/** How long one try to store a usage event may take; the journal repeats it. */
const STORE_USAGE_MS = 2_000;
/** A beat is followed by the next one: nothing waits for it longer. */
const STORE_BEAT_MS = 1_500;

/** The edge's side of the message table over the bus. */
export function makeBusLine(bus: Bus): BusLine {
  return {
    askAdmission: (batch, on, to) =>
      bus.requestMany(
        admissionBatch,
        batch,
        { answer: (answer) => on.answer(answer), fault: (fault) => on.fault(fault.code) },
        optionsOf(to),
      ),
    authorize: (question, to) => bus.request(admissionAuthorize, question, optionsOf(to)),
    usage: (question, to) => bus.request(admissionUsage, question, optionsOf(to)),
    storeUsage: async (shard, message) => {
      await bus.store(usageRecorded, { shard }, message, { timeoutMs: STORE_USAGE_MS });
    },
    storeBeat: async (beat) => {
      await bus.store(edgeHeartbeat, { edge: beat.edge, chunk: beat.chunk }, beat, { timeoutMs: STORE_BEAT_MS });
    },
    tellHealth: (health) => void bus.publish(edgeHealth, {}, health),
    tellMirrored: (mirrored) => void bus.publish(catalogMirrored, {}, mirrored),
  };
}

function optionsOf({ replica, timeoutMs }: AskedReplica): RequestOptions {
  return replica === undefined ? { timeoutMs } : { replica, timeoutMs };
}
