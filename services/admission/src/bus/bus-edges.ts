import type { Bus } from '@gateway/bus';
import {
  edgeHeartbeat,
  edgeHeartbeatReply,
  edgeResyncRequest,
  edgeShortHeartbeat,
  subjectPattern,
} from '@gateway/contracts/messages';
import type { StoredHeartbeat } from '../heartbeats/last-heartbeats-rules.js';
import type { Edges, Log } from '../ports.js';
import type { OtherReplicas } from '../limit-store/run-agreement-rules.js';

const MEBIBYTE = 1024 * 1024;
const DAY_MS = 86_400_000;
/** Each edge, kind and part has one message; 500 calls are about 300 KB. */
const HEARTBEATS_BYTES_MAX = 512 * MEBIBYTE;
const HEARTBEATS_AGE_MAX_MS = 7 * DAY_MS;
/** Short heartbeats are read first: a full one that is stored later lists all calls they name. */
const KINDS = [edgeShortHeartbeat, edgeHeartbeat] as const;
const STREAM = edgeHeartbeat.stream;
/** Index of the edge's name in the subject of a heartbeat. */
const EDGE_WORD = edgeHeartbeat.subject.split('.').indexOf('{edge}');
const DUPLICATE_WINDOW_MS = 1_000;

/**
 * Notifies the edges that this replica stops, so that they no longer send requests to it by name.
 */
export function publishLeaving(bus: Bus, replica: string): void {
  bus.publish(edgeResyncRequest, {}, { epochs: [], stopping: replica });
}

/**
 * The bus is available if the stream responds, because the client notices a lost connection late.
 */
export function connectOtherReplicas(bus: Bus): OtherReplicas {
  return {
    publish: (run) => void bus.publish(edgeResyncRequest, {}, { epochs: [], run }),
    areReachable: () =>
      bus.streamState(STREAM).then(
        () => true,
        () => false,
      ),
  };
}

export function createBusEdges(bus: Bus, log: Log): Edges {
  return {
    listens: () => bus.connected(),
    async heartbeatMarks() {
      const marks = KINDS.map((kind) => bus.lastPerSubject(STREAM, subjectPattern(kind), { headersOnly: true }));
      return (await Promise.all(marks)).flat().map(({ subject, sequence, storedAtMs }) => ({
        edge: subject.split('.')[EDGE_WORD] ?? '',
        sequence,
        storedAtMs,
      }));
    },
    async lastHeartbeats(edge) {
      const words = edge === undefined ? {} : { edge };
      const all: StoredHeartbeat[] = [];
      for (const kind of KINDS) {
        const kept = await bus.lastPerSubject(STREAM, subjectPattern(kind, words));
        for (const { data, storedAtMs, sequence, subject } of kept) {
          const decoded = bus.decode(kind, data);
          if (decoded.ok) all.push({ heartbeat: decoded.body, storedAtMs, sequence });
          else log.error({ subject, problem: decoded.problem }, 'a kept heartbeat cannot be read');
        }
      }
      return all;
    },
    async forget(edge, upToSequence) {
      for (const kind of KINDS) await bus.purgeStream(STREAM, upToSequence, subjectPattern(kind, { edge }));
    },
    heartbeatReply: (edge, heartbeatReply) => void bus.publish(edgeHeartbeatReply, { edge }, heartbeatReply),
    report: (epochs) => void bus.publish(edgeResyncRequest, {}, { epochs: [...epochs] }),
  };
}

/** Creates the stream of heartbeats. It keeps the last message of each edge and part. */
export function ensureHeartbeatStream(bus: Bus, replicas: number): Promise<void> {
  return bus.ensureStream({
    stream: STREAM,
    subjects: KINDS.map((kind) => subjectPattern(kind)),
    discard: 'old',
    bytesMax: HEARTBEATS_BYTES_MAX,
    ageMaxMs: HEARTBEATS_AGE_MAX_MS,
    messagesPerSubjectMax: 1,
    duplicateWindowMs: DUPLICATE_WINDOW_MS,
    replicas,
  });
}
