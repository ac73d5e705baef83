import pg from 'pg';
import type { PrimaryChoice } from './choose-primary.js';
import { readServerState } from './server-state.js';

/** A server that has signed a connection in and says nothing then is left after this time. */
const VERIFY_MS = 5_000;

const boundedQuery = (text: string): pg.QueryConfig & { query_timeout: number } => ({ text, query_timeout: VERIFY_MS });

type Connected = (error: Error | null) => void;

/** A connection that goes to the primary of a choice, and knows on which timeline it is. */
export class PrimaryClient extends pg.Client {
  #url = '';

  constructor(
    config: pg.ClientConfig,
    private readonly choice: PrimaryChoice,
  ) {
    super(config);
  }

  /** As the driver's; the server is chosen first. A server that fails is not chosen again. */
  override connect(): Promise<this>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<this> | undefined {
    const connected = this.#connect();
    if (callback === undefined) return connected.then(() => this);
    connected.then(
      () => callback(null),
      (error: Error) => callback(error),
    );
    return undefined;
  }

  /** Asks the server what it is. @throws NotPrimary when it must not be used */
  async verify(): Promise<void> {
    try {
      // The pool waits for it without a bound of its own.
      const query = (text: string) => this.query(boundedQuery(text));
      const state = await readServerState({ query });
      this.choice.check(state);
      this.once(
        'end',
        this.choice.onSuperseded(state, () => this.#breakOff()),
      );
    } catch (error) {
      this.choice.failed(this.#url);
      throw error;
    }
  }

  async #connect(): Promise<void> {
    this.#url = await this.choice.url();
    // The driver has read the first URL.
    if (this.#url !== this.choice.first) Object.assign(this, addressOf(this.#url));
    try {
      await super.connect();
    } catch (error) {
      this.choice.failed(this.#url);
      throw error;
    }
  }

  /** Whatever is under way fails: its answer would come from a server that was replaced. */
  #breakOff(): void {
    const { connection } = this as unknown as { connection: { stream: { destroy(): void } } };
    this.choice.failed(this.#url);
    connection.stream.destroy();
  }
}

const DEFAULT_PORT = 5432;

function addressOf(url: string): { host: string; port: number } {
  const { hostname, port } = new URL(url);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || DEFAULT_PORT };
}
