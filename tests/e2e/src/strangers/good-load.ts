import { setTimeout as delay } from 'node:timers/promises';
import { sendRequest, type Answered, type RequestOptions } from './send-request.js';
import { CHAT } from './request-heads.js';
import type { Tally } from './tally.js';
import { type GoodKind } from './tally.js';

export interface GoodTarget {
  readonly edgePort: number;
  readonly pagesPort: number;
  readonly operatorPort: number;
  readonly account: string;
  readonly secret: string;
  readonly modelId: string;
  readonly operatorToken: string;
  /** Value of the `Origin` header. */
  readonly pagesOrigin: string;
}

export interface GoodLoad {
  /** Counts all requests from now on in `tally`. */
  countIn(tally: Tally): void;
  /** Makes no further requests; resolves when all running requests have ended. */
  stop(): Promise<void>;
}

/** Interval between two requests of a kind. */
const EVERY_MS: Readonly<Record<GoodKind, number>> = { calls: 20, pages: 250, operators: 1_000, 'new keys': 2_000 };
/** Number of client addresses, from 127.0.0.2 up. */
const ADDRESSES = 40;
/** One in three requests to a model is streamed. */
const STREAMED = 3;
const DONE = 'data: [DONE]';

/**
 * Makes valid requests to models and pages, each on a separate connection, until the load is
 * stopped.
 */
export async function startGoodLoad(target: GoodTarget, first: Tally): Promise<GoodLoad> {
  const cookie = await signIn(target);
  let tally = first;
  let stopped = false;
  const requesting = new Set<Promise<void>>();
  const ways: Readonly<Record<GoodKind, (from: string, n: number) => Promise<string>>> = {
    calls: (from, n) => callOnce(target, target.secret, from, n % STREAMED === 0),
    pages: (from, n) => readPage(target, cookie, from, n),
    operators: (from) => readAccounts(target, from),
    'new keys': (from) => callWithNewKey(target, from),
  };
  const worker = async (kind: GoodKind): Promise<void> => {
    const beganMs = performance.now();
    for (let n = 0; !stopped; n += 1) {
      // Overdue requests are sent immediately. A load that waited for responses would slow down
      // together with the system under test.
      await delay(Math.max(0, beganMs + n * EVERY_MS[kind] - performance.now()));
      const { counted } = tally.begin(kind);
      const one = ways[kind](`127.0.0.${2 + (n % ADDRESSES)}`, n)
        .then(counted)
        .finally(() => requesting.delete(one));
      requesting.add(one);
    }
  };
  const workers = (Object.keys(EVERY_MS) as GoodKind[]).map(worker);
  return {
    countIn(next) {
      tally = next;
    },
    async stop() {
      stopped = true;
      await Promise.all(workers);
      await Promise.all(requesting);
    },
  };
}

/** Returns `good`, or the failure; for a status of 500 with its code. */
function outcomeOf({ outcome, text }: Answered, isWhole: (text: string) => boolean): string {
  if (outcome === '200' && !isWhole(text)) return 'cut';
  if (outcome === '200' || outcome === '201') return 'good';
  return outcome === '500' ? `500 ${/"code":"(\w+)"/.exec(text)?.[1] ?? ''}` : outcome;
}

async function callOnce(target: GoodTarget, secret: string, from: string, stream: boolean): Promise<string> {
  const messages = [{ role: 'user', content: 'Hello.' }];
  const body = JSON.stringify({ model: target.modelId, messages, ...(stream ? { stream } : {}) });
  const headers = { authorization: `Bearer ${secret}` };
  const answered = await sendRequest({ port: target.edgePort, method: 'POST', path: CHAT, headers, body, from });
  return outcomeOf(answered, (text) => text.includes(stream ? DONE : '"choices"'));
}

/** Reads the home page, the configuration, or a list that needs a session. */
async function readPage(target: GoodTarget, cookie: string, from: string, n: number): Promise<string> {
  const asked = { port: target.pagesPort, method: 'GET', from } as const;
  const whole = (text: string): boolean => text.length > 0;
  if (n % 3 === 0) return outcomeOf(await sendRequest({ ...asked, path: '/' }), whole);
  if (n % 3 === 1) return outcomeOf(await sendRequest({ ...asked, path: '/api/config' }), whole);
  return outcomeOf(
    await sendRequest({ ...asked, path: '/api/operator/v1/accounts?limit=1', headers: { cookie } }),
    whole,
  );
}

const asOperator = ({ operatorPort: port, operatorToken }: GoodTarget, from: string) =>
  ({ port, from, headers: { authorization: `Bearer ${operatorToken}` } }) satisfies Partial<RequestOptions>;

async function readAccounts(target: GoodTarget, from: string): Promise<string> {
  const answered = await sendRequest({
    ...asOperator(target, from),
    method: 'GET',
    path: '/operator/v1/accounts?limit=1',
  });
  return outcomeOf(answered, (text) => text.includes('"data"'));
}

/** Creates a key that no process has cached, so that its first request needs a lookup. */
async function callWithNewKey(target: GoodTarget, from: string): Promise<string> {
  const path = `/operator/v1/accounts/${target.account}/keys`;
  const body = JSON.stringify({ name: 'new' });
  const { outcome, text } = await sendRequest({ ...asOperator(target, from), method: 'POST', path, body });
  if (outcome !== '201') return outcome;
  return callOnce(target, (JSON.parse(text) as { secret: string }).secret, from, false);
}

async function signIn({ pagesPort: port, pagesOrigin: origin, operatorToken: token }: GoodTarget): Promise<string> {
  const path = '/api/operator/sign-in';
  const body = JSON.stringify({ token });
  const asked = { port, method: 'POST', path, headers: { origin }, body, from: '127.0.0.2' } as const;
  const { outcome, text, headers } = await sendRequest(asked);
  const [cookie] = headers['set-cookie'] ?? [];
  if (cookie === undefined) throw new Error(`operator sign-in failed: ${outcome} ${text}`);
  return cookie.split(';')[0] ?? '';
}
