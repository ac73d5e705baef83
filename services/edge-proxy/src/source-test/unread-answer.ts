import type { ClientResponse } from '../ports.js';

/** A response without a client. Accepts all writes and discards them. */
export class DiscardedResponse implements ClientResponse {
  readonly isGone = false;
  hasBegun = false;

  onGone(): void {}
  onDrain(): void {}

  begin(): void {
    this.hasBegun = true;
  }

  write(): boolean {
    return true;
  }

  end(): void {}
  cut(): void {}
  destroy(): void {}

  isSent(): boolean {
    return true;
  }

  watchReading(): void {}
  unwatchReading(): void {}
}
