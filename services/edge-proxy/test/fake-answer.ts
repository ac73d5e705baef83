import type { ClientAnswer } from '../src/ports.js';

/**
 * The answer to a client that is there; `heard` sees what is written and says whether the client
 * takes more.
 */
export function fakeAnswer(heard: Pick<ClientAnswer, 'write'> & Partial<ClientAnswer>): ClientAnswer {
  return {
    isGone: false,
    hasBegun: false,
    onGone: () => undefined,
    onDrain: () => undefined,
    begin: () => undefined,
    end: () => undefined,
    cut: () => undefined,
    destroy: () => undefined,
    isSent: () => true,
    watchReading: () => undefined,
    unwatchReading: () => undefined,
    ...heard,
  };
}
