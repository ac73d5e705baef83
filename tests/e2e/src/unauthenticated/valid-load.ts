import { setTimeout as delay } from 'node:timers/promises';
import { CHAT, sendRequest, type RequestOptions, type SentRequest } from './send-request.js';

export const VALID_KINDS = ['calls', 'pages', 'operators', 'new keys'] as const;
export type ValidKind = (typeof VALID_KINDS)[number];

export interface ValidCount {
  readonly sent: number;
  readonly wrong: Readonly<Record<string, number>>;
  readonly slowestMs: number;
}

export type ValidCounts = Readonly<Record<ValidKind, ValidCount>>;

/** Counts the valid requests that began in one time span. */
export class Tally {
  readonly #counts = Object.fromEntries(
    VALID_KINDS.map((kind) => [kind, { sent: 0, wrong: {}, slowestMs: 0 }]),
  ) as Record<ValidKind, { sent: number; wrong: Record<string, number>; slowestMs: number }>;

  /** Counts a request. The returned function gets its result: `good`, or status and code. */
  begin(kind: ValidKind): (outcome: string) => void {
    const count = this.#counts[kind];
    const beganMs = performance.now();
    count.sent += 1;
    return (outcome) => {
      count.slowestMs = Math.max(count.slowestMs, performance.now() - beganMs);
      if (outcome !== 'good') count.wrong[outcome] = (count.wrong[outcome] ?? 0) + 1;
    };
  }

  get counts(): ValidCounts {
    return this.#counts;
  }
}

export interface ValidTarget {
  readonly edgePort: number;
  readonly pagesPort: number;
  readonly operatorPort: number;
  readonly account: string;
  readonly secret: string;
  readonly modelId: string;
  readonly operatorToken: string;
  readonly pagesOrigin: string;
}

export interface ValidLoad {
  /** Counts all requests from now on in `tally`. */
  countIn(tally: Tally): void;
  /** Makes no further requests; resolves when all running requests have ended. */
  stop(): Promise<void>;
}

const EVERY_MS: Readonly<Record<ValidKind, number>> = { calls: 20, pages: 250, operators: 1_000, 'new keys': 2_000 };
/** Number of client addresses, from 127.0.0.2 up. */
const ADDRESSES = 40;
const STREAMED = 3;
const DONE = 'data: [DONE]';

/**
 * Makes valid requests to models and pages, each on a separate connection, until the load is
 * stopped.
 */
export async function startValidLoad(target: ValidTarget, first: Tally): Promise<ValidLoad> {
  const cookie = await signIn(target);
  let tally = first;
  let stopped = false;
  const running = new Set<Promise<void>>();
  const requests: Readonly<Record<ValidKind, (from: string, n: number) => Promise<string>>> = {
    calls: (from, n) => callOnce(target, target.secret, from, n % STREAMED === 0),
    pages: (from, n) => readPage(target, cookie, from, n),
    operators: (from) => readAccounts(target, from),
    'new keys': (from) => callWithNewKey(target, from),
  };
  const worker = async (kind: ValidKind): Promise<void> => {
    const beganMs = performance.now();
    for (let n = 0; !stopped; n += 1) {
      // Overdue requests are sent immediately. A load that waited for responses would slow down
      // together with the system under test.
      await delay(Math.max(0, beganMs + n * EVERY_MS[kind] - performance.now()));
      const count = tally.begin(kind);
      const one = requests[kind](`127.0.0.${2 + (n % ADDRESSES)}`, n)
        .then(count)
        .finally(() => running.delete(one));
      running.add(one);
    }
  };
  const workers = VALID_KINDS.map(worker);
  return {
    countIn(next) {
      tally = next;
    },
    async stop() {
      stopped = true;
      await Promise.all(workers);
      await Promise.all(running);
    },
  };
}

/** Returns `good`, or the failure; for a status of 500 with its code. */
function outcomeOf({ outcome, text }: SentRequest, isWhole: (text: string) => boolean): string {
  if (outcome === '200' && !isWhole(text)) return 'cut';
  if (outcome === '200' || outcome === '201') return 'good';
  return outcome === '500' ? `500 ${/"code":"(\w+)"/.exec(text)?.[1] ?? ''}` : outcome;
}

async function callOnce(target: ValidTarget, secret: string, from: string, stream: boolean): Promise<string> {
  const messages = [{ role: 'user', content: 'Hello.' }];
  const body = JSON.stringify({ model: target.modelId, messages, ...(stream ? { stream } : {}) });
  const headers = { authorization: `Bearer ${secret}` };
  const sent = await sendRequest({ port: target.edgePort, method: 'POST', path: CHAT, headers, body, from });
  return outcomeOf(sent, (text) => text.includes(stream ? DONE : '"choices"'));
}

/** Reads the home page, the configuration, or a list that needs a session. */
async function readPage({ pagesPort }: ValidTarget, cookie: string, from: string, n: number): Promise<string> {
  const path = ['/', '/api/config', '/api/operator/v1/accounts?limit=1'][n % 3] ?? '/';
  const headers = n % 3 === 2 ? { cookie } : {};
  return outcomeOf(await sendRequest({ port: pagesPort, method: 'GET', from, path, headers }), (text) => text !== '');
}

const asOperator = ({ operatorPort: port, operatorToken }: ValidTarget, from: string) =>
  ({ port, from, headers: { authorization: `Bearer ${operatorToken}` } }) satisfies Partial<RequestOptions>;

async function readAccounts(target: ValidTarget, from: string): Promise<string> {
  const path = '/operator/v1/accounts?limit=1';
  const sent = await sendRequest({ ...asOperator(target, from), method: 'GET', path });
  return outcomeOf(sent, (text) => text.includes('"data"'));
}

/** Creates a key that no process has cached, so that its first request needs a lookup. */
async function callWithNewKey(target: ValidTarget, from: string): Promise<string> {
  const path = `/operator/v1/accounts/${target.account}/keys`;
  const body = JSON.stringify({ name: 'new' });
  const { outcome, text } = await sendRequest({ ...asOperator(target, from), method: 'POST', path, body });
  if (outcome !== '201') return outcome;
  return callOnce(target, (JSON.parse(text) as { secret: string }).secret, from, false);
}

async function signIn({ pagesPort: port, pagesOrigin: origin, operatorToken: token }: ValidTarget): Promise<string> {
  const body = JSON.stringify({ token });
  const sent = { port, method: 'POST', path: '/api/operator/sign-in', headers: { origin }, body } as const;
  const { outcome, text, headers } = await sendRequest({ ...sent, from: '127.0.0.2' });
  const [cookie] = headers['set-cookie'] ?? [];
  if (cookie === undefined) throw new Error(`operator sign-in failed: ${outcome} ${text}`);
  return cookie.split(';')[0] ?? '';
}
