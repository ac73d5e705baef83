import type { ClientAnswer } from '../ports.js';

/** The answer to nobody: takes everything and keeps nothing. */
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
