import { SingleFlight, urlsOf } from '@gateway/service-kit';
import pg from 'pg';
import { readServerState, type ServerState } from './server-state.js';
import { Timelines } from './timelines.js';

/** One server that is asked what it is, sign-in included. */
const ASK_MS = 1_500;
/** When a primary has answered, the others have so long to show a higher timeline. */
const OTHERS_MS = 300;
/** Read, and not passed on: it is always the primary that is looked for. */
const ATTRIBUTES = 'target_session_attrs';
const ATTRIBUTES_KNOWN = new Set(['read-write', 'primary']);

/**
 * A server that must not be used: a standby, or the primary of a timeline that was followed by
 * another. Its code is that of a read-only server, so that it counts as a fault of the connection.
 */
export class NotPrimary extends Error {
  override readonly name = 'NotPrimary';
  readonly code = '25006';
}

/** The servers of a database, and which of them is its primary as far as that is known. */
export class PrimaryChoice {
  readonly #urls: readonly string[];
  #known: string | null;
  readonly #finding = new SingleFlight<string>();

  /** @throws TypeError for a URL that asks for anything but the primary */
  constructor(
    url: string,
    private readonly timelines: Timelines,
  ) {
    this.#urls = urlsOf(url).map(withoutAttributes);
    this.#known = this.#urls.length === 1 ? (this.#urls[0] ?? '') : null;
  }

  /** The first server, for what all share: user, password, database. */
  get first(): string {
    return this.#urls[0] ?? '';
  }

  /**
   * The primary's URL: that of the last time, until it fails, else the one of the highest timeline
   * that answers. @throws NotPrimary when none does
   */
  async url(): Promise<string> {
    return this.#known ?? (await this.#finding.join('', () => this.#find()));
  }

  /** It could not be used: the next connection looks for another. The only server stays. */
  failed(url: string): void {
    if (this.#urls.length > 1 && this.#known === url) this.#known = null;
  }

  /** @throws NotPrimary for a state that must not be used; a higher timeline is remembered */
  check({ system, isStandby, timeline }: ServerState): void {
    if (isStandby || timeline === null) throw new NotPrimary('the database server is a standby');
    this.timelines.observe(system, timeline);
    const highest = this.timelines.highest(system);
    if (timeline === highest) return;
    throw new NotPrimary(
      `the database server is on timeline ${timeline}, and another one was promoted to ${highest}: connect to that one; ` +
        'if this one was restored from a copy of before, declare it (npm run restored -w services/billing)',
    );
  }

  /**
   * Calls `listener` once when a higher timeline than this server's is known; gives what ends that.
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
      const state = await ask(url);
      this.check(state);
      found.push({ url, state });
    });
    const all = Promise.allSettled(asked.map((one) => one.catch((error: Error) => void reasons.push(error.message))));
    await Promise.any(asked).catch(() => undefined);
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([all, new Promise((resolve) => (timer = setTimeout(resolve, OTHERS_MS)))]);
    clearTimeout(timer);
    const primary = found.find(({ state }) => state.timeline === this.timelines.highest(state.system));
    if (primary === undefined)
      throw new NotPrimary(`none of the database servers is the primary: ${reasons.join('; ')}`);
    this.#known = primary.url;
    return primary.url;
  }
}

/**
 * The URL of the primary alone, for programs that know one server only: the URL itself where it
 * names one. @throws NotPrimary when none of several is
 */
export function primaryUrl(url: string): Promise<string> {
  return new PrimaryChoice(url, new Timelines()).url();
}

/** @throws Error when it does not answer within ASK_MS */
async function ask(url: string): Promise<ServerState> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'gateway primary',
    connectionTimeoutMillis: ASK_MS,
    query_timeout: ASK_MS,
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
