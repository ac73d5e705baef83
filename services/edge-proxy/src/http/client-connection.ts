import type { Duplex } from 'node:stream';
import type { HttpAnswer } from './client-answer.js';

/** One connection of a client, and those of its requests whose answers have not ended, in their order. */
export class ClientConnection {
  readonly #answers = new Set<HttpAnswer>();
  #last: HttpAnswer | null = null;

  constructor(socket: Duplex) {
    // node tells the answer that is being sent, and none of those that wait behind it.
    socket.once('close', () => {
      for (const answer of this.#answers) answer.connectionClosed();
      this.#answers.clear();
    });
  }

  /** Requests without a complete answer. */
  get open(): number {
    return this.#answers.size;
  }

  /** Whose answer has not ended: the last request whose head has come; null when there is none. */
  get last(): HttpAnswer | null {
    return this.#last !== null && this.#answers.has(this.#last) ? this.#last : null;
  }

  add(answer: HttpAnswer): void {
    this.#answers.add(answer);
    this.#last = answer;
    answer.onClosed(() => this.#answers.delete(answer));
  }
}
