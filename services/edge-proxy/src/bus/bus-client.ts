import { BusFault, type Bus, type RequestOptions } from '@gateway/bus';
import {
  admissionAuthorize,
  admissionBatch,
  admissionUsage,
  RESPONSE_IDS_BUCKET,
  edgeHeartbeat,
  edgeHealth,
  edgeShortHeartbeat,
  QUOTAS_BUCKET,
  usageEvents,
} from '@gateway/contracts/messages';
import type { TargetReplica, BusClient } from '../ports.js';

/** Timeout for one attempt to store a usage event. The journal retries it. */
const STORE_USAGE_MS = 2_000;
/** Timeout for storing a heartbeat. It is not retried: the next heartbeat replaces it. */
const STORE_HEARTBEAT_MS = 1_500;
/** Timeout for one read or write of the ID of a stored response. */
const ANSWER_MS = 2_000;

/** Timeout for one read or update of a quota entry. No call waits for its end. */
const QUOTA_MS = 1_000;

/**
 * Sends the edge's messages over the bus.
 * @param storedResponseIdsMax most IDs of responses, items and containers in the shared bucket
 */
export function makeBusClient(bus: Bus, storedResponseIdsMax: number = RESPONSE_IDS_BUCKET.entriesDefault): BusClient {
  const { name, ageMaxMs, entryBytesMax } = RESPONSE_IDS_BUCKET;
  const bytesMax = storedResponseIdsMax * entryBytesMax;
  const answers = bus.lookUpBucket({ name, ageMaxMs, bytesMax, entriesMax: storedResponseIdsMax });
  const quotas = bus.lookUpBucket(QUOTAS_BUCKET);
  return {
    requestAdmission: (batch, on, to) =>
      bus.requestMany(
        admissionBatch,
        batch,
        { answer: (answer) => on.answer(answer), fault: (fault) => on.fault(fault.code) },
        toRequestOptions(to),
      ),
    authorize: (question, to) => bus.request(admissionAuthorize, question, toRequestOptions(to)),
    usage: (question, to) => bus.request(admissionUsage, question, toRequestOptions(to)),
    storeUsage: async (group, message) => {
      await bus.store(usageEvents, { group }, message, { timeoutMs: STORE_USAGE_MS });
    },
    storeHeartbeat: async (heartbeat, place) => {
      const { edge, chunk } = heartbeat;
      const options = { timeoutMs: STORE_HEARTBEAT_MS };
      if ('names' in heartbeat) await bus.store(edgeShortHeartbeat, { edge, place }, heartbeat, options);
      else await bus.store(edgeHeartbeat, { edge, chunk }, heartbeat, options);
    },
    putAnswer: (key, source) => answers.put(key, source, ANSWER_MS),
    getAnswer: (key) => answers.get(key, ANSWER_MS),
    confirmAnswer: (key) => answers.getFromLeader(key, ANSWER_MS),
    countAnswers: () => answers.entries(ANSWER_MS),
    readQuota: (source) => quotas.read(source, QUOTA_MS),
    replaceQuota: async (source, value, revision) => {
      try {
        await quotas.replace(source, value, revision, QUOTA_MS);
        return true;
      } catch (error) {
        if (error instanceof BusFault && error.code === 'conflict') return false;
        throw error;
      }
    },
    publishHealth: (health) => void bus.publish(edgeHealth, {}, health),
  };
}

function toRequestOptions({ replica, timeoutMs }: TargetReplica): RequestOptions {
  return replica === undefined ? { timeoutMs } : { replica, timeoutMs };
}
