import { isMainThread, parentPort } from 'node:worker_threads';
import { ENDPOINT_TABLE, type EndpointRow } from '../formats/endpoints.js';
import { parseCall, type BodyFinding, type ParsedCall } from './parse-call.js';

/** What the thread is asked; the bytes are handed over. */
export interface ParseQuestion {
  readonly number: number;
  readonly path: EndpointRow['path'];
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/**
 * What it answers: the bytes are handed back. The endpoint's row stays where it is: it is no data.
 */
export interface ParseAnswer {
  readonly number: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly result:
    | { readonly ok: true; readonly call: Omit<ParsedCall, 'row'> }
    | { readonly ok: false; readonly finding: BodyFinding };
}

function answer({ number, path, contentType, contentEncoding, bytes }: ParseQuestion): ParseAnswer {
  const row = ENDPOINT_TABLE.get(path);
  if (row === undefined) throw new Error(`${path} is no endpoint`);
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const result = parseCall(row, { contentType, contentEncoding }, body);
  if (!result.ok) return { number, bytes, result };
  const { row: _row, ...call } = result.call;
  return { number, bytes, result: { ok: true, call } };
}

if (!isMainThread) {
  parentPort?.on('message', (question: ParseQuestion) => {
    parentPort?.postMessage(answer(question), [question.bytes.buffer]);
  });
}
