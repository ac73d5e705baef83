import type { Duplex } from 'node:stream';
import type { HttpAnswer } from './client-answer.js';

/** One connection of a client, and those of its requests whose answers have not ended, in their order. */
export class ClientConnection {
  /** A few at most; not a Set, whose tables would keep answers in memory long after their ends (see PassingMap). */
  #answers: HttpAnswer[] = [];
  #last: HttpAnswer | null = null;

  constructor(socket: Duplex) {
    // node tells the answer that is being sent, and none of those that wait behind it.
    socket.once('close', () => {
      const answers = this.#answers;
      this.#answers = [];
      for (const answer of answers) answer.connectionClosed();
    });
  }

  /** Requests without a complete answer. */
  get open(): number {
    return this.#answers.length;
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
    });
  }
}
