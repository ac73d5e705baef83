import type { RunAccount } from '../faults/arrange-accounts.js';
import type { CallPlan } from '../faults/call-plan.js';
import type { ClientCall } from '../faults/evidence.js';
import { makeCall } from '../faults/make-call.js';

/** An edge that clients are sent to; each process of a service has another number. */
export interface Door {
  readonly number: number;
  readonly url: string;
}

export interface SteadyLoadOptions {
  readonly accounts: readonly RunAccount[];
  readonly modelId: string;
  /** Long streams at a time. */
  readonly streams: number;
  /** Between two pieces of a stream of 12 to 20. */
  readonly pieceMs: number;
  /** Of earlier loads of the run: what this one sees is added, and its calls are numbered after them. */
  readonly seen: ClientCall[];
  /** Where calls go now, each to the next one. */
  readonly doors: () => readonly Door[];
}

export interface SteadyLoad {
  /** The numbers of the calls that were sent to a door and have not ended. */
  underWay(door: number): readonly number[];
  /** No further calls; resolves when the last has ended. */
  stop(): Promise<void>;
}

/** Beside the streams: nobody is refused in any moment. */
const PLAIN_LANES = 6;
const PLAIN_MS = 150;
/** The streams of a process never end all at once. */
const STREAM_PIECES = { min: 12, span: 9 };
const PIECE_BYTES = 40;
const CLIENTS = ['openai', 'anthropic', 'raw'] as const;

/** Keeps so many streams open, and plain calls coming, until told to stop. Nothing in it is meant to fail. */
export function startSteadyLoad({ accounts, modelId, streams, pieceMs, seen, doors }: SteadyLoadOptions): SteadyLoad {
  const underWay = new Map<number, number>();
  let stopped = false;
  let begun = seen.length;
  const lane = async (streamed: boolean, account: RunAccount): Promise<void> => {
    while (!stopped) {
      const plan = planSteadyCall((begun += 1), streamed ? pieceMs : null);
      const open = doors();
      const door = open[plan.n % open.length];
      if (door === undefined) throw new Error('there is no edge to call');
      underWay.set(plan.n, door.number);
      const { secret, model, terms } = account;
      const place = { account: terms.account, secret, model, modelId, edge: door.number, edgeUrl: door.url };
      seen.push(await makeCall(plan, place));
      underWay.delete(plan.n);
    }
  };
  const lanes = Array.from({ length: streams + PLAIN_LANES }, (_, index) => {
    const account = accounts[index % accounts.length];
    if (account === undefined) throw new Error('there is no account to call for');
    return lane(index < streams, account);
  });
  return {
    underWay: (door) => [...underWay].flatMap(([n, of]) => (of === door ? [n] : [])),
    async stop() {
      stopped = true;
      await Promise.all(lanes);
    },
  };
}

/** @param pieceMs of a stream; null for a plain call */
function planSteadyCall(n: number, pieceMs: number | null): CallPlan {
  const client = CLIENTS[n % CLIENTS.length] ?? 'raw';
  const stays = { part: 'answers', leaves: null, isSlow: false } as const;
  const size =
    pieceMs === null
      ? { pieces: 1, pieceMs: PLAIN_MS }
      : { pieces: STREAM_PIECES.min + (n % STREAM_PIECES.span), pieceMs };
  return { n, client, streamed: pieceMs !== null, pieceBytes: PIECE_BYTES, ...size, ...stays };
}
