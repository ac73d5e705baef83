import type { ReceivedOf, catalogMirrored } from '@gateway/contracts/messages';
import { decideInForce, goneAtMs } from '../domain/in-force.js';
import type { Followers } from '../ports.js';

/** Edges and admissions that are remembered; with more alive nothing is said to be in force. */
export const FOLLOWERS_MAX = 2_000;
/** When this process was held up for so many intervals, others seem silent for longer than they were. */
const HELD_UP_INTERVALS = 2;

export interface FollowersOptions {
  /** A monotonic clock, milliseconds. */
  readonly nowMs: () => number;
  /** How often a replica says its revision at least. */
  readonly everyMs: number;
}

export interface FollowerTable extends Followers {
  heard(message: Pick<ReceivedOf<typeof catalogMirrored>, 'replica' | 'revision' | 'last'>): void;
  /** The bus is there (again): from now on everybody who is alive is heard. */
  listen(): void;
  /** The bus is away: nothing is known until it is back for an interval. */
  deafen(): void;
  /** Replicas that are alive. */
  count(): number;
  /** Nobody waits any more: they are answered false. */
  stop(): void;
}

/** Which revision each edge and admission decides by, as each replica of this service hears it for itself. */
export function followReplicas({ nowMs, everyMs }: FollowersOptions): FollowerTable {
  const replicas = new Map<string, { readonly revision: number; readonly heardAtMs: number }>();
  const waiting = new Set<() => void>();
  let listeningSinceMs: number | null = null;
  let tickedAtMs = nowMs();
  let stopped = false;

  const wake = (): void => {
    for (const look of [...waiting]) look();
  };

  const forgetSilent = (): void => {
    const now = nowMs();
    for (const [replica, known] of replicas) if (goneAtMs(known, everyMs) <= now) replicas.delete(replica);
  };

  /** After a pause of the whole process silence means nothing: listening begins anew. */
  const noticePause = (): void => {
    const now = nowMs();
    if (listeningSinceMs !== null && now - tickedAtMs > HELD_UP_INTERVALS * everyMs) listeningSinceMs = now;
    tickedAtMs = now;
  };

  const ticking = setInterval(() => {
    noticePause();
    forgetSilent();
  }, everyMs);

  return {
    heard({ replica, revision, last }) {
      if (last) replicas.delete(replica);
      else {
        if (!replicas.has(replica) && replicas.size >= FOLLOWERS_MAX) forgetSilent();
        if (replicas.has(replica) || replicas.size < FOLLOWERS_MAX)
          replicas.set(replica, { revision, heardAtMs: nowMs() });
        else if (listeningSinceMs !== null) listeningSinceMs = nowMs();
      }
      wake();
    },
    listen() {
      listeningSinceMs = nowMs();
      wake();
    },
    deafen() {
      listeningSinceMs = null;
    },
    count() {
      forgetSilent();
      return replicas.size;
    },
    haveAll: (revision, timeoutMs) =>
      new Promise((resolve) => {
        const deadlineMs = nowMs() + timeoutMs;
        let timer: NodeJS.Timeout | undefined;
        const end = (inForce: boolean): void => {
          clearTimeout(timer);
          waiting.delete(look);
          resolve(inForce);
        };
        const look = (): void => {
          if (stopped) return end(false);
          noticePause();
          const now = nowMs();
          const decision = decideInForce({ listeningSinceMs, replicas: replicas.values(), everyMs }, revision, now);
          if (decision.inForce) return end(true);
          if (now >= deadlineMs) return end(false);
          clearTimeout(timer);
          const next = Math.min(deadlineMs, decision.lookAgainAtMs ?? deadlineMs);
          timer = setTimeout(look, Math.ceil(next - now));
        };
        waiting.add(look);
        look();
      }),
    stop() {
      stopped = true;
      clearInterval(ticking);
      wake();
    },
  };
}
