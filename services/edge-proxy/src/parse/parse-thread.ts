import { isMainThread, parentPort } from 'node:worker_threads';
import { ENDPOINT_TABLE, type EndpointSpec } from '../formats/endpoints.js';
import { parseCall, type BodyFinding, type ParsedCall } from './parse-call.js';

/** Request to the thread. The bytes are transferred. */
export interface ParseRequest {
  readonly number: number;
  readonly path: EndpointSpec['path'];
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/**
 * Response of the thread, which transfers the bytes back. The call has no endpoint row: the parser
 * adds it again.
 */
export interface ParseResponse {
  readonly number: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly result:
    | { readonly ok: true; readonly call: Omit<ParsedCall, 'row'> }
    | { readonly ok: false; readonly finding: BodyFinding };
}

function handleRequest({ number, path, contentType, contentEncoding, bytes }: ParseRequest): ParseResponse {
  const row = ENDPOINT_TABLE.get(path);
  if (row === undefined) throw new Error(`${path} is not an endpoint`);
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const result = parseCall(row, { contentType, contentEncoding }, body);
  if (!result.ok) return { number, bytes, result };
  const { row: _row, ...call } = result.call;
  return { number, bytes, result: { ok: true, call } };
}

if (!isMainThread) {
  parentPort?.on('message', (question: ParseRequest) => {
    parentPort?.postMessage(handleRequest(question), [question.bytes.buffer]);
  });
}
