import pg from 'pg';
import type { PrimaryChoice } from './choose-primary.js';
import { readServerState } from './server-state.js';

/** Timeout for a server that accepts a connection and then does not respond. */
const VERIFY_MS = 5_000;

const boundedQuery = (text: string): pg.QueryConfig & { query_timeout: number } => ({ text, query_timeout: VERIFY_MS });

type ConnectCallback = (error: Error | null) => void;

/** A connection to the chosen primary that knows its timeline. */
export class PrimaryClient extends pg.Client {
  #url = '';

  constructor(
    config: pg.ClientConfig,
    private readonly choice: PrimaryChoice,
  ) {
    super(config);
  }

  /** Connects to the primary. A failed server is not chosen again. */
  override connect(): Promise<this>;
  override connect(callback: ConnectCallback): void;
  override connect(callback?: ConnectCallback): Promise<this> | undefined {
    const connected = this.#connect();
    if (callback === undefined) return connected.then(() => this);
    connected.then(
      () => callback(null),
      (error: Error) => callback(error),
    );
    return undefined;
  }

  /**
   * Reads the server's state.
   * @throws NotPrimary if the server must not be used
   */
  async verify(): Promise<void> {
    try {
      // The pool awaits this without a timeout.
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
    // The driver has already parsed the first URL.
    if (this.#url !== this.choice.first) Object.assign(this, addressOf(this.#url));
    try {
      await super.connect();
    } catch (error) {
      this.choice.failed(this.#url);
      throw error;
    }
  }

  /** Fails all running queries, because their results would come from a replaced server. */
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
