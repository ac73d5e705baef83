import type { ClientResponse } from '../src/ports.js';

/**
 * Returns a response to a connected client. `heard.write` receives the bytes and returns false if
 * the client accepts no more for now.
 */
export function fakeResponse(heard: Pick<ClientResponse, 'write'> & Partial<ClientResponse>): ClientResponse {
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
