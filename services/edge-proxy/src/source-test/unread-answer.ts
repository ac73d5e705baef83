import type { ClientAnswer } from '../ports.js';

/** A response without a client. Accepts all writes and discards them. */
export class UnreadAnswer implements ClientAnswer {
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
