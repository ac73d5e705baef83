import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { type AttackTarget, CHAT } from './attacks.js';

export const VALID_KINDS = ['calls', 'pages', 'operators', 'new keys'] as const;
export type ValidKind = (typeof VALID_KINDS)[number];

/** The valid requests of one kind that began in one time span. */
export interface ValidCount {
  sent: number;
  readonly wrong: Record<string, number>;
  slowestMs: number;
}

export type ValidCounts = Readonly<Record<ValidKind, ValidCount>>;

export interface ValidTarget extends Omit<AttackTarget, 'largeFile' | 'largeModelId' | 'refusingModelId'> {
  readonly account: string;
  readonly operatorToken: string;
  readonly pagesOrigin: string;
}

interface RequestOptions {
  readonly port: number;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Loopback address of the client; default: 127.0.0.1. */
  readonly from?: string;
}

const EVERY_MS: Readonly<Record<ValidKind, number>> = { calls: 20, pages: 250, operators: 1_000, 'new keys': 2_000 };
/** Number of client addresses, from 127.0.0.2 up. */
const ADDRESSES = 40;
const STREAMED = 3;
/** Long, because a slow response is not a refusal: clients and attackers share this machine. */
const ANSWER_MS_MAX = 30_000;
const ACCOUNTS = '/operator/v1/accounts';

/**
 * Makes valid requests to models and pages, each on a separate connection, until the load is
 * stopped.
 */
export async function startValidLoad(target: ValidTarget) {
  const { edgePort, pagesPort, operatorPort, account, modelId, secret, operatorToken } = target;
  const cookie = await signIn(target);
  const operator = { port: operatorPort, headers: { authorization: `Bearer ${operatorToken}` } };

  const call = (from: string, key: string, stream = false): Promise<string> => {
    const body = JSON.stringify({ model: modelId, messages: [{ role: 'user', content: 'Hello.' }], stream });
    const headers = { authorization: `Bearer ${key}` };
    const one = { port: edgePort, method: 'POST', path: CHAT, headers, body, from } as const;
    return outcomeOf(one, stream ? 'data: [DONE]' : '"choices"');
  };
  const requests: Readonly<Record<ValidKind, (from: string, n: number) => Promise<string>>> = {
    calls: (from, n) => call(from, secret, n % STREAMED === 0),
    // The home page, the configuration, and a list that needs a session.
    pages: (from, n) => {
      const path = ['/', '/api/config', `/api${ACCOUNTS}?limit=1`][n % 3] ?? '/';
      return outcomeOf({ port: pagesPort, method: 'GET', from, path, headers: n % 3 === 2 ? { cookie } : {} });
    },
    operators: (from) => outcomeOf({ ...operator, method: 'GET', path: `${ACCOUNTS}?limit=1`, from }, '"data"'),
    // A key that no process has cached, so that its first request needs a lookup.
    'new keys': async (from) => {
      const body = JSON.stringify({ name: 'new' });
      const path = `${ACCOUNTS}/${account}/keys`;
      const { outcome, text } = await sendRequest({ ...operator, method: 'POST', path, body, from });
      return outcome === '201' ? call(from, (JSON.parse(text) as { secret: string }).secret) : outcome;
    },
  };

  let counts = newCounts();
  let stopped = false;
  const running = new Set<Promise<void>>();
  const work = async (kind: ValidKind): Promise<void> => {
    const beganMs = performance.now();
    for (let n = 0; !stopped; n += 1) {
      // Overdue requests are sent immediately. A load that waited for responses would slow down
      // together with the system under test.
      await delay(Math.max(0, beganMs + n * EVERY_MS[kind] - performance.now()));
      const count = counts[kind];
      const sentMs = performance.now();
      count.sent += 1;
      const one = requests[kind](`127.0.0.${2 + (n % ADDRESSES)}`, n)
        .then((outcome) => {
          count.slowestMs = Math.max(count.slowestMs, performance.now() - sentMs);
          if (outcome !== 'good') count.wrong[outcome] = (count.wrong[outcome] ?? 0) + 1;
        })
        .finally(() => running.delete(one));
      running.add(one);
    }
  };
  const workers = VALID_KINDS.map(work);
  return {
    /** Returns new counts, which count all requests from now on. */
    count: () => (counts = newCounts()),
    /** Makes no further requests; resolves when all running requests have ended. */
    async stop() {
      stopped = true;
      await Promise.all(workers);
      await Promise.all(running);
    },
  };
}

function newCounts(): ValidCounts {
  const count = (): ValidCount => ({ sent: 0, wrong: {}, slowestMs: 0 });
  return { calls: count(), pages: count(), operators: count(), 'new keys': count() };
}

/** Returns `good`, or the failure; for a status of 500 with its code. */
async function outcomeOf(options: RequestOptions, part = ''): Promise<string> {
  const { outcome, text } = await sendRequest(options);
  if (outcome === '200') return text !== '' && text.includes(part) ? 'good' : 'cut';
  return outcome === '500' ? `500 ${/"code":"(\w+)"/.exec(text)?.[1] ?? ''}` : outcome;
}

async function signIn({ pagesPort: port, pagesOrigin: origin, operatorToken: token }: ValidTarget): Promise<string> {
  const body = JSON.stringify({ token });
  const sent = { port, method: 'POST', path: '/api/operator/sign-in', headers: { origin }, body } as const;
  const { outcome, text, headers } = await sendRequest({ ...sent, from: '127.0.0.2' });
  const [cookie] = headers['set-cookie'] ?? [];
  if (cookie === undefined) throw new Error(`operator sign-in failed: ${outcome} ${text}`);
  return cookie.split(';')[0] ?? '';
}

/**
 * Sends one request on its own connection and reads the complete response. Never rejects: `outcome`
 * is the status, or the reason why there is no complete response.
 */
export async function sendRequest({ from, body, headers, ...rest }: RequestOptions) {
  const signal = AbortSignal.timeout(ANSWER_MS_MAX);
  try {
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const place = { host: '127.0.0.1', localAddress: from ?? '127.0.0.1', agent: false };
    const sent = request({ ...rest, ...place, headers: { ...type, ...headers }, signal });
    sent.end(body);
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    let text = '';
    for await (const chunk of answer.setEncoding('utf8')) text += String(chunk);
    return { outcome: String(answer.statusCode), text, headers: answer.headers };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { outcome: signal.aborted ? 'no response' : (code ?? message), text: '', headers: {} };
  }
}
