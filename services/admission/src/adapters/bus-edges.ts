import type { Bus } from '@gateway/bus';
import { edgeHeartbeat, edgeResyncRequest, edgeHeartbeatReply, subjectPattern } from '@gateway/contracts/messages';
import type { Edges, Log } from '../ports.js';

const MEBIBYTE = 1024 * 1024;
const DAY_MS = 86_400_000;
/** One message per edge and part; 500 calls are about 300 KB. */
const HEARTBEATS_BYTES_MAX = 512 * MEBIBYTE;
const HEARTBEATS_AGE_MAX_MS = 7 * DAY_MS;
/** Of the subject of a heartbeat: where its edge stands. */
const EDGE_WORD = edgeHeartbeat.subject.split('.').indexOf('{edge}');
const DUPLICATE_WINDOW_MS = 1_000;

/** Tells the edges that this replica stops: they ask it by name no more. */
export function tellLeaving(bus: Bus, replica: string): void {
  bus.publish(edgeResyncRequest, {}, { tokens: [], left: replica });
}

export function busEdges(bus: Bus, log: Log): Edges {
  return {
    listens: () => bus.connected(),
    async heartbeatMarks() {
      const kept = await bus.lastPerSubject(edgeHeartbeat.stream, subjectPattern(edgeHeartbeat), { headersOnly: true });
      return kept.map(({ subject, sequence, storedAtMs }) => ({
        edge: subject.split('.')[EDGE_WORD] ?? '',
        sequence,
        storedAtMs,
      }));
    },
    async lastHeartbeats(edge) {
      const kept = await bus.lastPerSubject(edgeHeartbeat.stream, subjectPattern(edgeHeartbeat, { edge }));
      return kept.flatMap(({ data, storedAtMs, sequence, subject }) => {
        const decoded = bus.decode(edgeHeartbeat, data);
        if (decoded.ok) return [{ heartbeat: decoded.body, storedAtMs, sequence }];
        log.error({ subject, problem: decoded.problem }, 'a kept beat cannot be read');
        return [];
      });
    },
    forget: (edge, upToSequence) =>
      bus.purgeStream(edgeHeartbeat.stream, upToSequence, subjectPattern(edgeHeartbeat, { edge })),
    heartbeatReply: (edge, heartbeatReply) => void bus.publish(edgeHeartbeatReply, { edge }, heartbeatReply),
    report: (tokens) => void bus.publish(edgeResyncRequest, {}, { tokens: [...tokens] }),
  };
}

/** Admission owns the stream of heartbeats: the last message of each edge and part. */
export function ensureHeartbeatStream(bus: Bus, replicas: number): Promise<void> {
  return bus.ensureStream({
    stream: edgeHeartbeat.stream,
    subjects: [subjectPattern(edgeHeartbeat)],
    discard: 'old',
    bytesMax: HEARTBEATS_BYTES_MAX,
    ageMaxMs: HEARTBEATS_AGE_MAX_MS,
    messagesPerSubjectMax: 1,
    duplicateWindowMs: DUPLICATE_WINDOW_MS,
    replicas,
  });
}
