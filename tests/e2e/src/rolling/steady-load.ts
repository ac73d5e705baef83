import type { RunAccount } from '../faults/arrange-accounts.js';
import type { CallPlan } from '../faults/call-plan.js';
import type { ClientCall } from '../faults/evidence.js';
import { makeCall } from '../faults/make-call.js';

/** An edge that receives calls. Each process of the service has a different number. */
export interface EdgeTarget {
  readonly number: number;
  readonly url: string;
}

export interface SteadyLoadOptions {
  readonly accounts: readonly RunAccount[];
  readonly modelId: string;
  /** Number of concurrent long streams. */
  readonly streams: number;
  /** Pause between two of the 12 to 20 chunks of a stream. */
  readonly pieceMs: number;
  /** Calls of earlier loads of the run. This load adds its calls and continues their numbers. */
  readonly seen: ClientCall[];
  /** The edges that receive calls now, in turn. */
  readonly edges: () => readonly EdgeTarget[];
}

export interface SteadyLoad {
  /** Numbers of the running calls at an edge. */
  underWay(edge: number): readonly number[];
  /** Makes no further calls; resolves when all running calls have ended. */
  stop(): Promise<void>;
}

/** Number of concurrent plain calls, in addition to the streams. */
const PLAIN_WORKERS = 6;
const PLAIN_MS = 150;
/** The lengths differ, so that the streams of a process do not end at the same time. */
const STREAM_PIECES = { min: 12, span: 9 };
const PIECE_BYTES = 40;
const CLIENTS = ['openai', 'anthropic', 'raw'] as const;

/** Keeps the streams open and makes plain calls until the load is stopped. Plans no failures. */
export function startSteadyLoad({ accounts, modelId, streams, pieceMs, seen, edges }: SteadyLoadOptions): SteadyLoad {
  const underWay = new Map<number, number>();
  let stopped = false;
  let begun = seen.length;
  const worker = async (streamed: boolean, account: RunAccount): Promise<void> => {
    while (!stopped) {
      const plan = planSteadyCall((begun += 1), streamed ? pieceMs : null);
      const open = edges();
      const edge = open[plan.n % open.length];
      if (edge === undefined) throw new Error('there is no edge to call');
      underWay.set(plan.n, edge.number);
      const { secret, model, terms } = account;
      const place = { account: terms.account, secret, model, modelId, edge: edge.number, edgeUrl: edge.url };
      seen.push(await makeCall(plan, place));
      underWay.delete(plan.n);
    }
  };
  const workers = Array.from({ length: streams + PLAIN_WORKERS }, (_, index) => {
    const account = accounts[index % accounts.length];
    if (account === undefined) throw new Error('there is no account to call for');
    return worker(index < streams, account);
  });
  return {
    underWay: (edge) => [...underWay].flatMap(([n, of]) => (of === edge ? [n] : [])),
    async stop() {
      stopped = true;
      await Promise.all(workers);
    },
  };
}

/** @param pieceMs pause between chunks of a stream; null for a plain call */
function planSteadyCall(n: number, pieceMs: number | null): CallPlan {
  const client = CLIENTS[n % CLIENTS.length] ?? 'raw';
  const stays = { part: 'answers', leaves: null, isSlow: false } as const;
  const size =
    pieceMs === null
      ? { pieces: 1, pieceMs: PLAIN_MS }
      : { pieces: STREAM_PIECES.min + (n % STREAM_PIECES.span), pieceMs };
  return { n, client, streamed: pieceMs !== null, pieceBytes: PIECE_BYTES, ...size, ...stays };
}
