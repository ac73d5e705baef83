import { pause } from '@gateway/service-kit';
import type { HttpServer } from './http/serve.js';
import type { JoinedVerbs } from './join-verbs.js';
import { UnstoredUsage } from './journal/leave-usage.js';
import type { UsageSpool } from './journal/usage-spool.js';

/**
 * Steps of a stop after the running calls have ended, in milliseconds; that of the journal is the
 * least.
 */
export const STOP_STEP_MS = {
  cutCalls: 2_000,
  connections: 1_000,
  journal: 5_000,
  releases: 1_000,
  quotas: 1_000,
  bus: 3_000,
} as const;
/**
 * How long idle connections are kept when a drain begins, in milliseconds, at most the drain's own
 * time. Requests that are on their way are served, and clients move on by `connection: close`.
 */
const IDLE_CONNECTIONS_MS = 2_000;
/** How often a stop looks whether the calls have ended. */
const IDLE_POLL_MS = 20;

/**
 * Lets running calls end, and their answers be sent, for `drainMs`, cuts the rest, and gives away
 * what is owed: events, releases, the last heartbeat. Events that the stream does not take are
 * waited for until `drainMs` is over, and then left where the next edge or a person finds them; the
 * spool has them meanwhile. A call whose request is served runs no more, though heartbeats list it
 * until its event is stored. What the verbs work with is left to be closed.
 */
export async function stopEdge(
  http: HttpServer,
  verbs: JoinedVerbs,
  spool: UsageSpool | null,
  drainMs: number,
): Promise<void> {
  const { edge, admissionClient, journal, heartbeats, quotas } = verbs;
  const { running, log } = edge;
  const graceEnd = performance.now() + drainMs;
  const usage = new UnstoredUsage(journal, spool, log);
  http.beginDrain();
  await waitUntil(() => http.connectionsOpen() === 0, Math.min(IDLE_CONNECTIONS_MS, drainMs));
  http.closeIdle();
  const isIdle = (): boolean => http.requestsOpen() === 0 && http.answersOpen() === 0;
  if (!(await waitUntil(isIdle, graceEnd - performance.now()))) {
    const open = { requests: http.requestsOpen(), answers: http.answersOpen() };
    log.warn(open, 'the grace is over: running calls are cut');
    running.abortAll('drain');
    await waitUntil(isIdle, STOP_STEP_MS.cutCalls);
  }
  await http.close(STOP_STEP_MS.connections);
  await usage.leave(Math.max(STOP_STEP_MS.journal, graceEnd - performance.now()));
  await waitUntil(() => admissionClient.releasesWaiting === 0, STOP_STEP_MS.releases);
  quotas.stop();
  await waitUntil(() => quotas.size === 0, STOP_STEP_MS.quotas);
  await heartbeats.stop();
  verbs.healthReport.stop();
  admissionClient.stop();
  edge.deadlines.stop();
  verbs.load.stop();
}

/** True as soon as `holds`, false after `timeoutMs`. */
async function waitUntil(holds: () => boolean, timeoutMs: number): Promise<boolean> {
  const until = performance.now() + timeoutMs;
  while (!holds()) {
    if (performance.now() >= until) return false;
    await pause(IDLE_POLL_MS);
  }
  return true;
}
