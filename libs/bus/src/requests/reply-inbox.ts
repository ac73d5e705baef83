import type { ServiceName } from '@gateway/contracts/messages';
import { OnDemandTimer, type TimerClock } from '@gateway/service-kit';
import { createInbox, type Msg, type MsgHdrs } from 'nats';
import { toBusFault, BusFault } from '../bus-fault.js';
import { inboxPrefix, type Link } from '../connection.js';

/** Maximum number of requests of one process that wait for replies. */
export const WAITING_MAX = 50_000;
/** Timeouts are late by at most about this time. */
const SWEEP_MS = 25;
/** Status of the server when a subject has no subscriber. */
const NO_RESPONDERS = 503;

/** A waiting request. Neither function may throw. */
export interface PendingRequest {
  /** The subject of the request, for error texts. */
  readonly subject: string;
  /**
   * The ending of the reply subject, which determines who may reply. Without it only the server
   * itself replies.
   */
  readonly answeredAs?: string;
  readonly timeoutMs: number;
  answered(message: Msg): void;
  /** Called at most once. The request then no longer waits. */
  failed(fault: BusFault): void;
}

interface PendingEntry {
  /**
   * Null: no longer waiting. The map's old tables keep entries in memory for a long time; clearing
   * this releases the objects at once.
   */
  waiting: PendingRequest | null;
  /** On the monotonic clock. */
  readonly deadline: number;
}

/**
 * Returns the pattern of the subjects for replies to a request. A service may publish to other
 * inboxes only with the endings of requests that it serves, and an inbox accepts only replies with
 * the ending of the request. A service therefore cannot reply for another service.
 */
export function replySubjects(asker: ServiceName, requestSubject: string): string {
  return `${inboxPrefix(asker)}.*.*.${requestSubject}`;
}

/**
 * Holds one subscription for all replies, a map of the waiting requests and one timer. This costs
 * half of the library's request (docs/decisions/0027-one-reply-inbox-for-each-process.md). The end
 * of the reply subject (number and ending) identifies the request.
 */
export class ReplyInbox {
  readonly clock: TimerClock;
  readonly #link: Link;
  readonly #prefix: string;
  readonly #entries = new Map<string, PendingEntry>();
  readonly #timer: OnDemandTimer;
  #lastNumber = 0;

  constructor(link: Link) {
    this.#link = link;
    this.clock = link.clock;
    this.#timer = new OnDemandTimer(
      SWEEP_MS,
      () => this.#entries.size > 0,
      () => this.#sweep(),
      this.clock,
    );
    this.#prefix = `${createInbox(inboxPrefix(link.service))}.`;
    link.nats.subscribe(`${this.#prefix}>`, {
      callback: (error, message) => {
        if (error !== null) link.log.error({ error }, 'the reply inbox is not permitted');
        else this.#receive(message);
      },
    });
    link.onDisconnect(() => this.failAll(new BusFault('disconnected', 'the bus was disconnected')));
    link.onForbidden((subject) => this.#failSubject(subject));
  }

  /**
   * Sends a message and registers `waiting` for its replies. Throws a BusFault if it was not sent.
   * Returns the token of the request.
   */
  send(data: Uint8Array, waiting: PendingRequest, headers?: MsgHdrs): string {
    const { nats } = this.#link;
    if (!this.#link.connected()) throw new BusFault('disconnected', 'the bus is disconnected');
    if (this.#entries.size >= WAITING_MAX) {
      throw new BusFault('overloaded', `${WAITING_MAX} requests are waiting for replies`);
    }
    const number = (++this.#lastNumber).toString(36);
    const token = waiting.answeredAs === undefined ? number : `${number}.${waiting.answeredAs}`;
    const reply = this.#prefix + token;
    try {
      nats.publish(waiting.subject, data, headers === undefined ? { reply } : { reply, headers });
    } catch (error) {
      throw toBusFault(error);
    }
    const deadline = this.clock.monotonicMs() + this.clock.timeoutMs(waiting.timeoutMs);
    this.#entries.set(token, { waiting, deadline });
    this.#timer.begin();
    return token;
  }

  /** Sends a message and resolves with the first reply. */
  exchange(call: Omit<PendingRequest, 'answered' | 'failed'>, data: Uint8Array, headers?: MsgHdrs): Promise<Msg> {
    return new Promise((resolve, reject) => {
      const answered = (message: Msg): void => {
        this.close(token);
        resolve(message);
      };
      const token = this.send(data, { ...call, answered, failed: reject }, headers);
    });
  }

  /** Ends the waiting. Later replies are dropped. */
  close(token: string): void {
    this.#take(token);
  }

  failAll(fault: BusFault): void {
    for (const token of [...this.#entries.keys()]) this.#fail(token, fault);
  }

  /** Stops the timer and fails all waiting requests. */
  stop(): void {
    this.#timer.stop();
    this.failAll(new BusFault('disconnected', 'the bus is closed'));
  }

  #receive(message: Msg): void {
    const token = message.subject.slice(this.#prefix.length);
    const waiting = this.#entries.get(token)?.waiting ?? null;
    if (waiting === null) return;
    if (message.headers?.code === NO_RESPONDERS && message.data.length === 0) {
      this.#fail(token, new BusFault('no_responders', `no subscriber on ${waiting.subject}`));
    } else {
      waiting.answered(message);
    }
  }

  #sweep(): void {
    const now = this.clock.monotonicMs();
    for (const [token, { waiting, deadline }] of this.#entries) {
      if (waiting === null || deadline > now) continue;
      this.#fail(token, new BusFault('timeout', `no reply to ${waiting.subject} within ${waiting.timeoutMs} ms`));
    }
  }

  #failSubject(subject: string): void {
    for (const [token, { waiting }] of [...this.#entries]) {
      if (waiting?.subject !== subject) continue;
      this.#fail(token, new BusFault('forbidden', `${this.#link.service} may not publish to ${subject}`));
    }
  }

  #fail(token: string, fault: BusFault): void {
    this.#take(token)?.failed(fault);
  }

  /** Returns null if the request no longer waits. */
  #take(token: string): PendingRequest | null {
    const entry = this.#entries.get(token);
    if (entry === undefined) return null;
    const { waiting } = entry;
    entry.waiting = null;
    this.#entries.delete(token);
    return waiting;
  }
}
