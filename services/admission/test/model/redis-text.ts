import { connect } from 'node:net';
import type { Socket } from 'node:net';
import type { Command, Result } from './frozen-limit-store.js';

interface Waiting {
  readonly results: Result[];
  readonly wanted: number;
  readonly resolve: (results: readonly Result[]) => void;
  readonly reject: (error: Error) => void;
}

/** The reply is incomplete. */
const MORE = Symbol('more');

/**
 * A connection that sends many commands in one write and reads the replies as text. A run of the
 * model sends some hundred thousand commands, and a client that creates an object and a promise for
 * each of them would be more expensive than everything else. All characters are single bytes.
 */
export class TextConnection {
  readonly #socket: Socket;
  readonly #waiting: Waiting[] = [];
  #text = '';
  #at = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding('latin1');
    socket.setNoDelay(true);
    socket.on('data', (text: string) => this.#read(text));
    socket.on('close', () => this.#fail(new Error('the connection to redis was closed')));
    socket.on('error', (error) => this.#fail(error));
  }

  static open(url: string): Promise<TextConnection> {
    const { hostname, port } = new URL(url);
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname);
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new TextConnection(socket));
      });
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  exec(commands: readonly Command[]): Promise<readonly Result[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ results: [], wanted: commands.length, resolve, reject });
      this.#socket.write(commands.map(commandText).join(''), 'latin1');
    });
  }

  #read(text: string): void {
    this.#text = this.#at === this.#text.length ? text : this.#text.slice(this.#at) + text;
    this.#at = 0;
    for (;;) {
      const [waiting] = this.#waiting;
      if (waiting === undefined) return;
      const begun = this.#at;
      const reply = this.#readReply();
      if (reply === MORE) {
        this.#at = begun;
        return;
      }
      waiting.results.push(reply instanceof Error ? [reply, null] : [null, reply]);
      if (waiting.results.length < waiting.wanted) continue;
      this.#waiting.shift();
      waiting.resolve(waiting.results);
    }
  }

  #readReply(): unknown {
    const end = this.#text.indexOf('\r\n', this.#at);
    if (end < 0) return MORE;
    const kind = this.#text[this.#at];
    const line = this.#text.slice(this.#at + 1, end);
    this.#at = end + 2;
    if (kind === ':') return Number(line);
    if (kind === '+') return line;
    if (kind === '-') return new Error(line);
    const length = Number(line);
    if (length < 0) return null;
    return kind === '$' ? this.#readBulk(length) : this.#readList(length);
  }

  #readBulk(length: number): unknown {
    const from = this.#at;
    if (from + length + 2 > this.#text.length) return MORE;
    this.#at = from + length + 2;
    return this.#text.slice(from, from + length);
  }

  #readList(length: number): unknown {
    const items: unknown[] = [];
    for (let item = 0; item < length; item += 1) {
      const reply = this.#readReply();
      if (reply === MORE) return MORE;
      items.push(reply);
    }
    return items;
  }

  #fail(error: Error): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}

function commandText(command: Command): string {
  let text = `*${command.length}\r\n`;
  for (const part of command) {
    const argument = String(part);
    text += `$${argument.length}\r\n${argument}\r\n`;
  }
  return text;
}
