import { SOURCE_TEST_MS_MAX, SOURCE_TEST_WAIT_MS_MAX } from '@gateway/contracts/messages';
import { refuse, type ManagementRefusal, type SourceTestCall, type SourceTestView } from '@gateway/contracts/operator';
import { pause, RateByClient } from '@gateway/service-kit';
import type { SourceHealths } from '../health/source-healths.js';
import type { Catalog, DecryptedSource } from '../ports.js';
import { type TestCallParts, callSource } from './call-source.js';
import { makeTestRequests, type TestRequest } from './test-requests.js';

/** Timeout for one test call. Local servers may load a model first. */
const CALL_MS_MAX = 20_000;
/** No further call begins with less than this left of the test's time. */
const CALL_MS_MIN = 1_000;
/** Interval of the check whether the edge has the catalog revision. */
const REVISION_POLL_MS = 50;
/** Rate limit for tests of one source. Correcting a key takes several tests in a minute. */
const OF_SOURCE = { burst: 20, perSecond: 0.5, keysMax: 10_000 };
/** Rate limit for tests of all sources at this edge. */
const OF_ALL = { burst: 60, perSecond: 1, keysMax: 1 };
const ALL = 'all';

export interface SourceTestParts {
  readonly edge: TestCallParts & {
    readonly catalog: Pick<Catalog, 'revision' | 'source' | 'problemOf'>;
    readonly health: Pick<SourceHealths, 'tested'>;
  };
  readonly edgeId: string;
}

/** Findings after which further calls to the same address would fail too. */
const OF_ADDRESS: ReadonlySet<SourceTestCall['finding']> = new Set(['dns', 'tls', 'address']);

/**
 * Tests sources for operators, once at a time per source. A failed test does not put a source into
 * cooldown. If all calls of a test work, a cooldown of the source at this edge that came from
 * failures or refusals ends. A cooldown that came from the provider's rate limit stays.
 */
export class SourceTests {
  readonly #parts: SourceTestParts;
  readonly #running = new Set<string>();
  readonly #ofSource = new RateByClient(OF_SOURCE);
  readonly #ofAll = new RateByClient(OF_ALL);

  constructor(parts: SourceTestParts) {
    this.#parts = parts;
  }

  /** @param revision the catalog revision to test with; the edge may have a later one */
  async test(source: string, revision: number): Promise<{ readonly test: SourceTestView } | ManagementRefusal> {
    const { edge } = this.#parts;
    if (this.#running.has(source)) return refuse('state_conflict', 'the source is already being tested');
    const nowMs = edge.deadlines.nowMs();
    if (!this.#ofSource.take(source, nowMs) || !this.#ofAll.take(ALL, nowMs))
      return refuse('too_many_attempts', 'too many source tests; try again in two seconds');
    this.#running.add(source);
    try {
      if (!(await this.#hasRevision(revision, nowMs + SOURCE_TEST_WAIT_MS_MAX)))
        return refuse('not_in_force', 'the edge does not have this version of the catalog yet; try again');
      const opened = edge.catalog.source(source);
      if (opened === undefined) return this.#reportUnreadable(source);
      return { test: await this.#call(opened, nowMs + SOURCE_TEST_MS_MAX) };
    } finally {
      this.#running.delete(source);
    }
  }

  /** Waits until the edge uses the revision, and returns false after `untilMs`. */
  async #hasRevision(revision: number, untilMs: number): Promise<boolean> {
    const { catalog, deadlines } = this.#parts.edge;
    while ((catalog.revision() ?? -1) < revision) {
      if (deadlines.nowMs() >= untilMs) return false;
      await pause(REVISION_POLL_MS);
    }
    return true;
  }

  async #call(opened: DecryptedSource, untilMs: number): Promise<SourceTestView> {
    const { edge, edgeId } = this.#parts;
    const { id } = opened.source;
    const calls: SourceTestCall[] = [];
    for (const request of makeTestRequests(opened.source.endpoints)) {
      const unreached = calls.find(({ finding }) => OF_ADDRESS.has(finding));
      const leftMs = untilMs - edge.deadlines.nowMs();
      if (unreached !== undefined)
        calls.push(untried(request, 'Not tried: an earlier call could not reach the address.'));
      else if (leftMs < CALL_MS_MIN) calls.push(untried(request, 'Not tried: the earlier calls took too long.'));
      else calls.push(await callSource(edge, opened, request, edge.deadlines.nowMs() + Math.min(CALL_MS_MAX, leftMs)));
    }
    const works = calls.every(({ finding }) => finding === 'works');
    if (works) edge.health.tested(id, edge.clock.nowMs());
    edge.log.info({ source: id, findings: calls.map(({ finding }) => finding) }, 'source tested');
    return { sourceId: id, edge: edgeId, works, problem: null, calls };
  }

  /** Handles a source of the catalog that this edge does not have or cannot use. */
  #reportUnreadable(source: string): { readonly test: SourceTestView } | ManagementRefusal {
    const { edge, edgeId } = this.#parts;
    const problem = edge.catalog.problemOf(source);
    if (problem === null) return refuse('not_in_force', 'the edge does not have the source');
    return { test: { sourceId: source, edge: edgeId, works: false, problem, calls: [] } };
  }
}

function untried(request: TestRequest, text: string): SourceTestCall {
  return {
    ...request,
    finding: 'untried',
    text,
    providerText: null,
    status: null,
    usage: null,
    costUsd: null,
    priceUsd: null,
    firstByteMs: null,
    totalMs: 0,
  };
}
