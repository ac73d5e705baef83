import type { ReceivedOf, catalogMirrored } from '@gateway/contracts/messages';
import { decideInForce, goneAtMs } from './in-force-rules.js';

/** Edges and admissions that are kept; with more alive nothing counts as in force. */
export const FOLLOWERS_MAX = 2_000;
/**
 * When this process was held up for so many intervals, others seem silent for longer than they
 * were.
 */
const HELD_UP_INTERVALS = 2;

export interface FollowersOptions {
  /** A monotonic clock, milliseconds. */
  readonly nowMs: () => number;
  /** How often a replica reports its revision at least. */
  readonly everyMs: number;
}

/** Which revision each edge and admission decides by. */
export interface Followers {
  /**
   * Whether all that are alive decide by this revision or a later one, or do within the time. Never
   * rejects.
   */
  haveAll(revision: number, timeoutMs: number): Promise<boolean>;
  receive(message: Pick<ReceivedOf<typeof catalogMirrored>, 'replica' | 'revision' | 'last'>): void;
  /** The bus is there (again): from now on reports of everybody who is alive arrive. */
  listen(): void;
  /** The bus is away: nothing is in force until it is back for an interval. */
  pause(): void;
  /** Replicas that are alive. */
  count(): number;
  /** Nobody waits any more: they are answered false. */
  stop(): void;
}

/**
 * Which revision each edge and admission decides by, as each replica of this service receives it
 * for itself.
 */
export function followReplicas({ nowMs, everyMs }: FollowersOptions): Followers {
  const replicas = new Map<string, { readonly revision: number; readonly receivedAtMs: number }>();
  const waiting = new Set<() => void>();
  let listeningSinceMs: number | null = null;
  let tickedAtMs = nowMs();
  let stopped = false;

  const wake = (): void => {
    for (const check of [...waiting]) check();
  };

  const evictSilent = (): void => {
    const now = nowMs();
    for (const [replica, replicaState] of replicas)
      if (goneAtMs(replicaState, everyMs) <= now) replicas.delete(replica);
  };

  /** After a pause of the whole process silence means nothing: listening begins anew. */
  const noticePause = (): void => {
    const now = nowMs();
    if (listeningSinceMs !== null && now - tickedAtMs > HELD_UP_INTERVALS * everyMs) listeningSinceMs = now;
    tickedAtMs = now;
  };

  const ticking = setInterval(() => {
    noticePause();
    evictSilent();
  }, everyMs);

  return {
    receive({ replica, revision, last }) {
      if (last) replicas.delete(replica);
      else {
        if (!replicas.has(replica) && replicas.size >= FOLLOWERS_MAX) evictSilent();
        if (replicas.has(replica) || replicas.size < FOLLOWERS_MAX)
          replicas.set(replica, { revision, receivedAtMs: nowMs() });
        else if (listeningSinceMs !== null) listeningSinceMs = nowMs();
      }
      wake();
    },
    listen() {
      listeningSinceMs = nowMs();
      wake();
    },
    pause() {
      listeningSinceMs = null;
    },
    count() {
      evictSilent();
      return replicas.size;
    },
    haveAll: (revision, timeoutMs) =>
      new Promise((resolve) => {
        const deadlineMs = nowMs() + timeoutMs;
        let timer: NodeJS.Timeout | undefined;
        const end = (inForce: boolean): void => {
          clearTimeout(timer);
          waiting.delete(check);
          resolve(inForce);
        };
        const check = (): void => {
          if (stopped) return end(false);
          noticePause();
          const now = nowMs();
          const decision = decideInForce({ listeningSinceMs, replicas: replicas.values(), everyMs }, revision, now);
          if (decision.inForce) return end(true);
          if (now >= deadlineMs) return end(false);
          clearTimeout(timer);
          const next = Math.min(deadlineMs, decision.checkAgainAtMs ?? deadlineMs);
          timer = setTimeout(check, Math.ceil(next - now));
        };
        waiting.add(check);
        check();
      }),
    stop() {
      stopped = true;
      clearInterval(ticking);
      wake();
    },
  };
}
