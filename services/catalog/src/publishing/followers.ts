import type { ReceivedOf, catalogRevisionUsed } from '@gateway/contracts/messages';
import type { Timer, TimerClock } from '@gateway/service-kit';
import { decideInForce, goneAtMs } from './in-force-rules.js';

/** Maximum number of edges and admission replicas. Above it, no change is reported as in force. */
export const FOLLOWERS_MAX = 2_000;
/** After a pause of this many intervals, silence of others is not reliable. */
const HELD_UP_INTERVALS = 2;

export interface FollowersOptions {
  readonly clock: TimerClock;
  /** Interval at which a replica reports its revision. */
  readonly everyMs: number;
}

/** Tracks the catalog revision of each edge and admission replica. */
export interface Followers {
  /**
   * Whether all live replicas use this revision or a later one, at the latest after the timeout.
   * Never rejects.
   */
  haveAll(revision: number, timeoutMs: number): Promise<boolean>;
  receive(message: Pick<ReceivedOf<typeof catalogRevisionUsed>, 'replica' | 'revision' | 'last'>): void;
  /** Call when the bus is connected (again): all live replicas' reports arrive from then on. */
  listen(): void;
  /**
   * Call when the bus is disconnected. Until one interval after its return, no change is in force.
   */
  pause(): void;
  /** Returns the number of live replicas. */
  count(): number;
  /** Ends all waits with false. */
  stop(): void;
}

/** Creates the tracker. Each replica of this service has its own. */
export function trackReplicas({ clock, everyMs }: FollowersOptions): Followers {
  const nowMs = (): number => clock.monotonicMs();
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

  /** After a pause of the whole process, silence has no meaning, so the listening time restarts. */
  const noticePause = (): void => {
    const now = nowMs();
    if (listeningSinceMs !== null && now - tickedAtMs > HELD_UP_INTERVALS * everyMs) listeningSinceMs = now;
    tickedAtMs = now;
  };

  const ticking = clock.setTicker(everyMs, () => {
    noticePause();
    evictSilent();
  });

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
        let timer: Timer | undefined;
        const end = (inForce: boolean): void => {
          timer?.cancel();
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
          timer?.cancel();
          const next = Math.min(deadlineMs, decision.checkAgainAtMs ?? deadlineMs);
          timer = clock.setTimer(Math.ceil(next - now), check);
        };
        waiting.add(check);
        check();
      }),
    stop() {
      stopped = true;
      ticking.cancel();
      wake();
    },
  };
}
