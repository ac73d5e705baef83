import { pause, SingleFlight, systemClock, urlsOf } from '@gateway/service-kit';
import pg from 'pg';
import { readServerState, type ServerState } from './server-state.js';
import { Timelines } from './timelines.js';

/** Timeout for reading the state of one server, including the connection. */
const STATE_TIMEOUT_MS = 1_500;
/** After the first primary has responded, the wait for others with a higher timeline. */
const OTHERS_MS = 300;
/** This URL parameter is checked and removed, because only the primary is used. */
const ATTRIBUTES = 'target_session_attrs';
const ATTRIBUTES_KNOWN = new Set(['read-write', 'primary']);

/**
 * A server that must not be used: a standby, or the primary of a replaced timeline. Has the code of
 * a read-only server, so that it counts as a connection fault.
 */
export class NotPrimary extends Error {
  override readonly name = 'NotPrimary';
  readonly code = '25006';
}

/** The servers of a database and its primary, as far as it is known. */
export class PrimaryChoice {
  readonly #urls: readonly string[];
  #known: string | null;
  readonly #finding = new SingleFlight<string>();

  /** @throws TypeError for a URL that requests another server than the primary */
  constructor(
    url: string,
    private readonly timelines: Timelines,
    private readonly clock = systemClock,
  ) {
    this.#urls = urlsOf(url).map(withoutAttributes);
    this.#known = this.#urls.length === 1 ? (this.#urls[0] ?? '') : null;
  }

  /** The URL of the first server, for the shared parts: user, password, database. */
  get first(): string {
    return this.#urls[0] ?? '';
  }

  /**
   * Returns the primary's URL: the known one until it fails, else the one with the highest timeline
   * among all responding servers.
   * @throws NotPrimary if no server is the primary
   */
  async url(): Promise<string> {
    return this.#known ?? (await this.#finding.join('', () => this.#find()));
  }

  /**
   * Reports a failed server: the next connection searches for the primary again. A single server is
   * kept.
   */
  failed(url: string): void {
    if (this.#urls.length > 1 && this.#known === url) this.#known = null;
  }

  /**
   * Records the timeline of a server.
   * @throws NotPrimary if the server must not be used
   */
  check({ system, isStandby, timeline }: ServerState): void {
    if (isStandby || timeline === null) throw new NotPrimary('the database server is a standby');
    this.timelines.observe(system, timeline);
    const highest = this.timelines.highest(system);
    if (timeline === highest) return;
    throw new NotPrimary(
      `the database server is on timeline ${timeline}, and another one was promoted to ${highest}: connect to that one; ` +
        'if this one was restored from an earlier copy, declare it (npm run restored -w services/billing)',
    );
  }

  /**
   * Calls `listener` once when a higher timeline than this server's is known. Returns a function
   * that removes the listener.
   */
  onSuperseded({ system, timeline }: ServerState, listener: () => void): () => void {
    const end = this.timelines.onRise((of, highest) => {
      if (of !== system || highest <= (timeline ?? 0)) return;
      end();
      listener();
    });
    return end;
  }

  async #find(): Promise<string> {
    const found: { url: string; state: ServerState }[] = [];
    const reasons: string[] = [];
    const asked = this.#urls.map(async (url) => {
      const state = await readState(url);
      this.check(state);
      found.push({ url, state });
    });
    const all = Promise.allSettled(asked.map((one) => one.catch((error: Error) => void reasons.push(error.message))));
    await Promise.any(asked).catch(() => undefined);
    const ended = new AbortController();
    await Promise.race([all, pause(OTHERS_MS, ended.signal, this.clock)]);
    ended.abort();
    const primary = found.find(({ state }) => state.timeline === this.timelines.highest(state.system));
    if (primary === undefined)
      throw new NotPrimary(`none of the database servers is the primary: ${reasons.join('; ')}`);
    this.#known = primary.url;
    return primary.url;
  }
}

/**
 * Returns the URL of the primary for programs that support only one server. A URL with one server
 * is returned unchanged.
 * @throws NotPrimary if none of several servers is the primary
 */
export function primaryUrl(url: string): Promise<string> {
  return new PrimaryChoice(url, new Timelines()).url();
}

/** @throws Error if the server does not respond within ASK_MS */
async function readState(url: string): Promise<ServerState> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'gateway primary',
    connectionTimeoutMillis: STATE_TIMEOUT_MS,
    query_timeout: STATE_TIMEOUT_MS,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await readServerState(client);
  } finally {
    void client.end().catch(() => undefined);
  }
}

function withoutAttributes(text: string): string {
  if (!text.includes(ATTRIBUTES)) return text;
  const url = new URL(text);
  const wanted = url.searchParams.get(ATTRIBUTES) ?? '';
  if (!ATTRIBUTES_KNOWN.has(wanted)) {
    throw new TypeError(`${ATTRIBUTES}=${wanted} is not supported: only the primary is used (read-write)`);
  }
  url.searchParams.delete(ATTRIBUTES);
  return url.href;
}
