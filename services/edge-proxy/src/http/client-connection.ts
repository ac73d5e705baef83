import { clientNetwork } from '@gateway/service-kit';
import type { Socket } from 'node:net';
import { BodyPace } from './read-body.js';
import type { HttpResponse } from './client-answer.js';
import type { HttpLimits } from './http-limits.js';

/** One client connection and its unfinished responses, in the order of their requests. */
export class ClientConnection {
  readonly socket: Socket;
  /** The client's address, and its network. */
  readonly peer: string | undefined;
  readonly client: string;
  /**
   * At most a few entries. An array, because the tables of a Set would keep responses in memory
   * long after their end (see EphemeralMap).
   */
  #answers: HttpResponse[] = [];
  #last: HttpResponse | null = null;
  /** Bytes received when the last response was complete. */
  #bytesAnswered = 0;
  /** The pace of the body that was arriving at the last check. */
  #pace: BodyPace | null = null;

  constructor(socket: Socket) {
    this.socket = socket;
    this.peer = socket.remoteAddress;
    this.client = clientNetwork(this.peer, undefined, 0);
    // Node reports only the response that is being sent, not those that wait for it.
    socket.once('close', () => {
      const answers = this.#answers;
      this.#answers = [];
      for (const answer of answers) answer.connectionClosed();
    });
  }

  /** Number of requests whose responses are not fully sent. */
  get open(): number {
    return this.#answers.length;
  }

  /**
   * Whether no request is open or arriving. A request whose first bytes arrived before the last
   * response ended is not detected.
   */
  get isIdle(): boolean {
    return this.open === 0 && this.socket.bytesRead === this.#bytesAnswered;
  }

  /** The response to the last request whose head has arrived, or null if it has ended. */
  get last(): HttpResponse | null {
    return this.#last !== null && this.#answers.includes(this.#last) ? this.#last : null;
  }

  add(answer: HttpResponse): void {
    this.#answers.push(answer);
    this.#last = answer;
    answer.onClosed(() => {
      const at = this.#answers.indexOf(answer);
      if (at >= 0) this.#answers.splice(at, 1);
      this.#bytesAnswered = this.socket.bytesRead;
    });
  }

  /**
   * Returns whether a body is arriving too slowly. Called periodically. A request whose response
   * has begun has other limits.
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
