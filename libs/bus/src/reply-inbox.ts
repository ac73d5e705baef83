import type { ServiceName } from '@gateway/contracts/messages';
import { OnDemandTimer } from '@gateway/service-kit';
import { createInbox, type Msg, type MsgHdrs } from 'nats';
import { asBusFault, BusFault } from './bus-fault.js';
import { inboxPrefix, type Link } from './connection.js';

/** Calls of one process waiting for answers. */
export const WAITING_MAX = 50_000;
/** Time-outs are late by at most about this much. */
const SWEEP_MS = 25;
/** How the server says that nobody serves a subject, and how it says other things of its own. */
const NO_RESPONDERS = 503;

/** A call that waits. Neither function may throw. */
export interface Waiting {
  /** What was asked, for texts. */
  readonly subject: string;
  /**
   * Ends the subject of the answers and says who may send them; without it only the server itself
   * answers.
   */
  readonly answeredAs?: string;
  readonly timeoutMs: number;
  answered(message: Msg): void;
  /** Called at most once; the call no longer waits. */
  failed(fault: BusFault): void;
}

interface Entry {
  /**
   * Null: it waits no longer. The map's old tables keep entries in memory for long; what these
   * point to goes at once.
   */
  waiting: Waiting | null;
  /** On the monotonic clock. */
  readonly deadline: number;
}

/**
 * The end of the subjects on which a request of this subject is answered. A service has the right
 * to publish to inboxes of others only with the ends of the requests that it serves, and an inbox
 * takes an answer only with the end of what was asked: so nobody can answer for another service.
 */
export function answerSubjects(asker: ServiceName, requestSubject: string): string {
  return `${inboxPrefix(asker)}.*.*.${requestSubject}`;
}

/**
 * One subscription for the answers to all calls, a map of the waiting calls and one timer: half the
 * cost of the library's request (docs/decisions/0027-one-reply-inbox-for-each-process.md). Calls
 * are found by what follows the inbox in the answer's subject: number and end.
 */
export class ReplyInbox {
  readonly #link: Link;
  readonly #prefix: string;
  readonly #entries = new Map<string, Entry>();
  readonly #timer = new OnDemandTimer(
    SWEEP_MS,
    () => this.#entries.size > 0,
    () => this.#sweep(),
  );
  #lastNumber = 0;

  constructor(link: Link) {
    this.#link = link;
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
   * Sends a message whose answers go to `waiting`. Throws a BusFault when it was not sent. Returns
   * the call's token.
   */
  send(data: Uint8Array, waiting: Waiting, headers?: MsgHdrs): string {
    const { nats } = this.#link;
    if (!this.#link.connected()) throw new BusFault('disconnected', 'the bus is disconnected');
    if (this.#entries.size >= WAITING_MAX) {
      throw new BusFault('overloaded', `${WAITING_MAX} calls are waiting for answers`);
    }
    const number = (++this.#lastNumber).toString(36);
    const token = waiting.answeredAs === undefined ? number : `${number}.${waiting.answeredAs}`;
    const reply = this.#prefix + token;
    try {
      nats.publish(waiting.subject, data, headers === undefined ? { reply } : { reply, headers });
    } catch (error) {
      throw asBusFault(error);
    }
    this.#entries.set(token, { waiting, deadline: performance.now() + waiting.timeoutMs });
    this.#timer.begin();
    return token;
  }

  /** Sends and resolves with the first answer. */
  exchange(call: Omit<Waiting, 'answered' | 'failed'>, data: Uint8Array, headers?: MsgHdrs): Promise<Msg> {
    return new Promise((resolve, reject) => {
      const answered = (message: Msg): void => {
        this.close(token);
        resolve(message);
      };
      const token = this.send(data, { ...call, answered, failed: reject }, headers);
    });
  }

  /** The call waits no longer; later answers are dropped. */
  close(token: string): void {
    this.#take(token);
  }

  failAll(fault: BusFault): void {
    for (const token of [...this.#entries.keys()]) this.#fail(token, fault);
  }

  /** Ends the timer and all waiting. */
  stop(): void {
    this.#timer.stop();
    this.failAll(new BusFault('disconnected', 'the bus is closed'));
  }

  #receive(message: Msg): void {
    const token = message.subject.slice(this.#prefix.length);
    const waiting = this.#entries.get(token)?.waiting ?? null;
    if (waiting === null) return;
    if (message.headers?.code === NO_RESPONDERS && message.data.length === 0) {
      this.#fail(token, new BusFault('no_responders', `nobody serves ${waiting.subject}`));
    } else {
      waiting.answered(message);
    }
  }

  #sweep(): void {
    const now = performance.now();
    for (const [token, { waiting, deadline }] of this.#entries) {
      if (waiting === null || deadline > now) continue;
      this.#fail(token, new BusFault('timeout', `no answer to ${waiting.subject} within ${waiting.timeoutMs} ms`));
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

  /** Null when it does not wait any more. */
  #take(token: string): Waiting | null {
    const entry = this.#entries.get(token);
    if (entry === undefined) return null;
    const { waiting } = entry;
    entry.waiting = null;
    this.#entries.delete(token);
    return waiting;
  }
}
