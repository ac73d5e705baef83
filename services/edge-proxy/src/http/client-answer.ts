import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ClientAnswer } from '../ports.js';
import { closeAfterDraining } from './drain-rest.js';

/** What all answers of one server share. */
export interface Answering {
  /** The edge stops: connections are not kept. */
  isDraining: boolean;
}

export interface HttpAnswerOptions {
  /** Name, value, name, value: on every answer. */
  readonly ids: readonly string[];
  readonly answering: Answering;
  /** The request announces a body. */
  readonly hasBody: boolean;
  /** The client sends its body only after a 100 Continue. */
  readonly awaitsContinue: boolean;
}

/** A {@link ClientAnswer} over one exchange of node:http. */
export class HttpAnswer implements ClientAnswer {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #ids: readonly string[];
  readonly #answering: Answering;
  readonly #hasBody: boolean;
  #awaitsContinue: boolean;
  #onGone: (() => void) | null = null;
  isGone = false;
  hasBegun = false;

  constructor(request: IncomingMessage, response: ServerResponse, options: HttpAnswerOptions) {
    this.#request = request;
    this.#response = response;
    this.#ids = options.ids;
    this.#answering = options.answering;
    this.#hasBody = options.hasBody;
    this.#awaitsContinue = options.awaitsContinue;
    response.on('close', () => {
      if (response.writableFinished) return;
      this.isGone = true;
      this.#onGone?.();
    });
  }

  /** A head was written and the end was not yet sent. */
  get isOpen(): boolean {
    return this.hasBegun && !this.#response.writableFinished;
  }

  /** Name, value, name, value: of an answer that nothing was written of yet, null once something was. */
  get unusedIds(): readonly string[] | null {
    return this.hasBegun ? null : this.#ids;
  }

  /** Other id headers than it was made with; without effect once the head was written. */
  rename(ids: readonly string[]): void {
    this.#ids = ids;
  }

  /** Asks for the body, if the client waits to be asked. */
  sendContinue(): void {
    if (this.#awaitsContinue && !this.isGone) this.#response.writeContinue();
    this.#awaitsContinue = false;
  }

  onGone(listener: () => void): void {
    this.#onGone = listener;
  }

  onDrain(listener: () => void): void {
    this.#response.on('drain', listener);
  }

  begin(status: number, headers: readonly string[]): void {
    this.hasBegun = true;
    if (this.isGone) return;
    const all = this.#ids.concat(headers);
    if (this.#answering.isDraining || this.#isRequestOpen()) all.push('connection', 'close');
    this.#response.writeHead(status, all);
  }

  write(bytes: Buffer): boolean {
    return this.isGone || this.#response.write(bytes);
  }

  end(bytes: Buffer | null): void {
    if (this.isGone) return;
    if (this.#isRequestOpen() && !this.#awaitsContinue) closeAfterDraining(this.#request, this.#response, bytes);
    else if (bytes === null) this.#response.end();
    else this.#response.end(bytes);
  }

  cut(ending: Buffer | null): void {
    if (this.isGone) return;
    const destroy = (): void => void this.#response.socket?.destroy();
    if (ending === null || ending.length === 0) this.#response.write('', destroy);
    else this.#response.write(ending, destroy);
  }

  destroy(): void {
    this.#request.socket.destroy();
  }

  isSent(onClosed: () => void): boolean {
    if (this.isGone || this.#response.writableFinished) return true;
    this.#response.once('close', onClosed);
    return false;
  }

  /** Some of the request's body has not come: the answer is early. */
  #isRequestOpen(): boolean {
    return this.#hasBody && !this.#request.complete;
  }
}
