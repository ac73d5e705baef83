import {
  compileCheck,
  type AnswerOf,
  type AnyMessage,
  type Check,
  type Packing,
  type ReceivedOf,
} from '@gateway/contracts/messages';
import { BusFault } from './bus-fault.js';
import type { AnyRequest } from './bus.js';

/** Largest body on the bus. The server's `max_payload` is 1 MiB and includes the headers. */
export const MESSAGE_BYTES_MAX = 1_000_000;
/** Length of the text that describes why a message is invalid. */
const PROBLEM_CHARS_MAX = 300;
const PROBLEM_ISSUES_MAX = 3;

export type Schema = AnyMessage['body'];
export type Decoded<T> = { ok: true; body: T } | { ok: false; problem: string };

/** The parts of a message definition that writing and reading a body needs. */
export interface WireForm {
  readonly name: string;
  readonly version: number;
  readonly checkedInPlace?: true;
}

/**
 * Encodes a body as the packed list, or as a JSON object with its version as last member `v`. The
 * receiver removes `v`; removing the last member keeps the object in its fast form. Throws
 * `too_large`, and `invalid_message` on anything but an object.
 */
export function encodeBody(form: WireForm, body: unknown, packing?: Packing): Uint8Array {
  if (packing !== undefined) {
    const bytes = Buffer.from(JSON.stringify(packing.pack(body, form.version)), 'utf8');
    assertSendable(form, bytes);
    return bytes;
  }
  const json: string | undefined = JSON.stringify(body);
  if (json === undefined || !json.startsWith('{')) {
    throw new BusFault('invalid_message', `${form.name}: the body is not a JSON object`);
  }
  const version = `"v":${form.version}}`;
  const bytes = Buffer.from(json === '{}' ? `{${version}` : `${json.slice(0, -1)},${version}`, 'utf8');
  assertSendable(form, bytes);
  return bytes;
}

/** Throws `too_large` for bytes that would make the server close the connection. */
export function assertSendable(form: WireForm, bytes: Uint8Array): void {
  if (bytes.length <= MESSAGE_BYTES_MAX) return;
  throw new BusFault('too_large', `${form.name}: ${bytes.length} bytes are more than ${MESSAGE_BYTES_MAX}`);
}

/**
 * Decodes a message's body for its handler. Never throws. `problem` names fields and rules, not
 * values.
 */
export function decodeMessage<M extends AnyMessage>(message: M, data: Uint8Array): Decoded<ReceivedOf<M>> {
  const packing = 'packed' in message ? message.packed?.body : undefined;
  return decodeObject(message, message.body, data, packing) as Decoded<ReceivedOf<M>>;
}

/** Decodes a reply in the same way. */
export function decodeAnswer<M extends AnyRequest>(message: M, data: Uint8Array): Decoded<AnswerOf<M>> {
  return decodeObject(message, message.answer, data, message.packed?.answer) as Decoded<AnswerOf<M>>;
}

/** Reads and validates a body or a reply: a list if the message is packed, else an object. */
function decodeObject(form: WireForm, schema: Schema, data: Uint8Array, packing?: Packing): Decoded<unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('utf8'));
  } catch {
    return { ok: false, problem: `${form.name}: not JSON` };
  }
  if (packing !== undefined) {
    if (!Array.isArray(parsed)) return { ok: false, problem: `${form.name}: not a list` };
    if (parsed[0] !== form.version) return { ok: false, problem: `${form.name}: version is not ${form.version}` };
    parsed = unpack(packing, parsed);
  } else {
    if (typeof parsed !== 'object' || parsed === null || !('v' in parsed)) {
      return { ok: false, problem: `${form.name}: no version` };
    }
    if (parsed.v !== form.version) return { ok: false, problem: `${form.name}: version is not ${form.version}` };
    delete parsed.v;
  }
  if (form.checkedInPlace === true && checkOf(schema)(parsed)) return { ok: true, body: parsed };
  const result = validate(schema, parsed);
  if (result === null) return { ok: false, problem: `${form.name}: values that cannot be compared` };
  if (result.success) return { ok: true, body: result.data };
  const issues = result.error.issues.slice(0, PROBLEM_ISSUES_MAX);
  const problem = issues.map((issue) => `${issue.path.map(String).join('.')}: ${issue.message}`).join('; ');
  return { ok: false, problem: `${form.name}: ${problem}`.slice(0, PROBLEM_CHARS_MAX) };
}

/** Returns null if a list or an object has another type. */
function unpack(packing: Packing, list: unknown): unknown {
  try {
    return packing.unpack(list);
  } catch {
    return null;
  }
}

const checks = new WeakMap<Schema, Check>();

function checkOf(schema: Schema): Check {
  let check = checks.get(schema);
  if (check === undefined) checks.set(schema, (check = compileCheck(schema)));
  return check;
}

/**
 * Returns null if the schema's own checks throw, as with `length: {toString: null}` instead of a
 * list.
 */
function validate(schema: Schema, value: unknown): ReturnType<Schema['safeParse']> | null {
  try {
    return schema.safeParse(value);
  } catch {
    return null;
  }
}
