import { setTimeout as delay } from 'node:timers/promises';
import type { HttpServer } from './http/serve.js';
import type { JoinedVerbs } from './join-verbs.js';

/** Steps of a stop after the running calls have ended, in milliseconds. */
export const STOP_STEP_MS = {
  cutCalls: 2_000,
  connections: 1_000,
  journal: 5_000,
  releases: 1_000,
  bus: 3_000,
} as const;
/** How often a stop looks whether the calls have ended. */
const IDLE_POLL_MS = 20;

/**
 * Lets running calls end for `drainMs`, cuts the rest, and gives away what is owed: events, releases, the last beat. What the
 * verbs work with is left to be closed.
 */
export async function stopEdge(http: HttpServer, verbs: JoinedVerbs, drainMs: number): Promise<void> {
  const { edge, desk, journal, beats } = verbs;
  const { running, log } = edge;
  http.beginDrain();
  const isIdle = (): boolean => running.size === 0 && http.requestsOpen() === 0;
  if (!(await waitUntil(isIdle, drainMs))) {
    log.warn({ calls: running.size }, 'the grace is over: running calls are cut');
    running.abortAll('drain');
    await waitUntil(isIdle, STOP_STEP_MS.cutCalls);
  }
  await http.close(STOP_STEP_MS.connections);
  const unstored = await journal.idle(STOP_STEP_MS.journal);
  if (unstored > 0) log.error({ unstored }, 'usage events could not be stored before the stop');
  await waitUntil(() => desk.releasesWaiting === 0, STOP_STEP_MS.releases);
  await beats.stop();
  verbs.healthReport.stop();
  verbs.mirroredReport.stop();
  desk.stop();
  edge.deadlines.stop();
  verbs.load.stop();
}

/** True as soon as `holds`, false after `timeoutMs`. */
async function waitUntil(holds: () => boolean, timeoutMs: number): Promise<boolean> {
  const until = performance.now() + timeoutMs;
  while (!holds()) {
    if (performance.now() >= until) return false;
    await delay(IDLE_POLL_MS);
  }
  return true;
}
