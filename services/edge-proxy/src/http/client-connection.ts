import { clientNetwork } from '@gateway/service-kit';
import type { Socket } from 'node:net';
import { BodyPace } from './read-body.js';
import type { HttpAnswer } from './client-answer.js';
import type { HttpLimits } from './http-limits.js';

/**
 * One connection of a client, and those of its requests whose answers have not ended, in their
 * order.
 */
export class ClientConnection {
  readonly socket: Socket;
  /** The address of its other end, and its network. */
  readonly peer: string | undefined;
  readonly client: string;
  /**
   * A few at most; not a Set, whose tables would keep answers in memory long after their ends (see
   * EphemeralMap).
   */
  #answers: HttpAnswer[] = [];
  #last: HttpAnswer | null = null;
  /** Bytes that had come when its last answer was complete. */
  #bytesAnswered = 0;
  /** Of the request whose body was coming at the last look. */
  #pace: BodyPace | null = null;

  constructor(socket: Socket) {
    this.socket = socket;
    this.peer = socket.remoteAddress;
    this.client = clientNetwork(this.peer, undefined, 0);
    // node tells the answer that is being sent, and none of those that wait behind it.
    socket.once('close', () => {
      const answers = this.#answers;
      this.#answers = [];
      for (const answer of answers) answer.connectionClosed();
    });
  }

  /** Requests whose answers are not sent to their last byte. */
  get open(): number {
    return this.#answers.length;
  }

  /**
   * No request is open, and none is coming in; one of which some came before the last answer ended
   * is not seen.
   */
  get isIdle(): boolean {
    return this.open === 0 && this.socket.bytesRead === this.#bytesAnswered;
  }

  /** Whose answer has not ended: the last request whose head has come; null when there is none. */
  get last(): HttpAnswer | null {
    return this.#last !== null && this.#answers.includes(this.#last) ? this.#last : null;
  }

  add(answer: HttpAnswer): void {
    this.#answers.push(answer);
    this.#last = answer;
    answer.onClosed(() => {
      const at = this.#answers.indexOf(answer);
      if (at >= 0) this.#answers.splice(at, 1);
      this.#bytesAnswered = this.socket.bytesRead;
    });
  }

  /**
   * A look from time to time: whether a body comes too slowly. One that is answered already has
   * bounds of its own.
   */
  isBodyTooSlow(nowMs: number, limits: Pick<HttpLimits, 'bodyIdleMsMax' | 'bodyBytesPerSecondMin'>): boolean {
    const { last } = this;
    if (last === null || last.isRequestComplete || last.hasBegun) {
      this.#pace = null;
      return false;
    }
    const { bytesRead } = this.socket;
    if (this.#pace?.of !== last) this.#pace = new BodyPace(last, nowMs, bytesRead);
    return this.#pace.isTooSlow(nowMs, bytesRead, limits);
  }
}
