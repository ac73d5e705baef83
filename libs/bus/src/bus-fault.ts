/**
 * The reason why a bus call failed. The bus itself creates the codes `timeout`, `no_responders`,
 * `disconnected`, `overloaded`, `forbidden`, `too_large`, `invalid_message`, `fault`,
 * `stream_full`, `stream_missing`, `stream_refused`, `conflict`. A remote handler can throw a
 * BusFault with any other short code.
 */
export class BusFault extends Error {
  override readonly name: string = 'BusFault';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** An error of the JetStream API with the server's error number. */
export class JetStreamFault extends BusFault {
  override readonly name = 'JetStreamFault';
  readonly errorNumber: number;

  constructor(code: string, message: string, errorNumber: number) {
    super(code, message);
    this.errorNumber = errorNumber;
  }
}

/** Returns any thrown value as a BusFault. */
export function toBusFault(thrown: unknown): BusFault {
  if (thrown instanceof BusFault) return thrown;
  return new BusFault('fault', thrown instanceof Error ? thrown.message : String(thrown));
}
