import { readHead } from '@gateway/edge-proxy/http/read-head.js';
import type { BodyRead, ClientResponse, ClientHeaders, ClientRequest } from '@gateway/edge-proxy/ports.js';
import type { Host } from '../time/host.js';
import type { Random } from '../time/random.js';
import type { VirtualTime } from '../time/virtual-time.js';

/** A client's request and the response that it receives. */
export class Client implements ClientRequest {
  id: string;
  readonly client = '203.0.113.7';
  readonly query = '';
  readonly headers: ClientHeaders;
  readonly answer: ClientResponse;
  /** Virtual time, like `seen.endedAt`. */
  readonly begunAt: number;
  /** The response as the client sees it. */
  readonly seen = {
    status: null as number | null,
    /** True when the last byte has arrived. */
    isComplete: false,
    /** True if the client left before the response was complete. */
    hasLeft: false,
    /** Virtual time of the response's end, complete or not. */
    endedAt: null as number | null,
  };
  /** Called once when the response has ended. */
  onEnded: () => void = () => undefined;
  readonly #body: Buffer;
  #onGone: () => void = () => undefined;

  constructor(
    private readonly world: { readonly time: VirtualTime; readonly random: Random },
    private readonly host: Host,
    /** The edge's clock, which the IDs contain. */
    private readonly nowMs: () => number,
    secret: string,
    body: object,
  ) {
    this.begunAt = world.time.now;
    this.#body = Buffer.from(JSON.stringify(body));
    this.id = this.#newId();
    const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
    this.headers = readHead(Object.entries({ ...headers, 'content-length': String(this.#body.length) }).flat());
    this.answer = this.#makeAnswer();
  }

  renewId(): string {
    this.id = this.#newId();
    return this.id;
  }

  async readBody(): Promise<BodyRead> {
    return { kind: 'complete', body: { bytes: this.#body, opened: () => undefined, free: () => undefined } };
  }

  /** Closes the client's connection. Does nothing if the response is complete. */
  leave(): void {
    if (this.seen.isComplete || this.answer.isGone || !this.host.isAlive) return;
    this.seen.hasLeft = true;
    this.world.time.in(this.host, 0, () => this.#close());
  }

  #close(): void {
    const answer = this.answer as { isGone: boolean };
    if (answer.isGone || this.seen.isComplete) return;
    answer.isGone = true;
    this.#end();
    this.#onGone();
  }

  #end(): void {
    this.seen.endedAt = this.world.time.now;
    this.onEnded();
  }

  #makeAnswer(): ClientResponse {
    const { seen } = this;
    const close = (): void => this.#close();
    const complete = (): void => {
      seen.isComplete = true;
      this.#end();
    };
    return {
      isGone: false,
      hasBegun: false,
      onGone: (listener) => void (this.#onGone = listener),
      onDrain: () => undefined,
      watchReading: () => undefined,
      unwatchReading: () => undefined,
      begin(status) {
        (this as { hasBegun: boolean }).hasBegun = true;
        if (!this.isGone) seen.status = status;
      },
      write: () => true,
      end() {
        if (!this.isGone && !seen.isComplete) complete();
      },
      cut: close,
      destroy: close,
      isSent: () => true,
    };
  }

  /** Returns a UUIDv7. */
  #newId(): string {
    const time = Math.round(this.nowMs()).toString(16).padStart(12, '0');
    const { random } = this.world;
    const tail = Array.from({ length: 2 }, () => random.below(0x7fff_ffff).toString(16).padStart(8, '0')).join('');
    return `${time.slice(0, 8)}-${time.slice(8)}-7${tail.slice(0, 3)}-8${tail.slice(3, 6)}-${tail.slice(4)}`;
  }
}
