import type { EndpointRow } from './endpoints.js';
import { kindOf, type Member } from './json/json-scanner.js';
import { JsonText } from './json/json-text.js';

/** Bytes of a longest id of an answer that is remembered or looked up. */
export const ANSWER_ID_BYTES_MAX = 256;

/** What a request says of stored answers. */
export interface AnswerNames {
  /** The answer that this call goes on from; null: none, or none with an id of a usual length. */
  readonly previousAnswer: string | null;
  /** Its answer is kept by a provider that keeps any: later requests may name it. */
  readonly isStored: boolean;
}

const NO_ANSWERS: AnswerNames = { previousAnswer: null, isStored: false };

/** Of a member that occurs twice the last one counts, as with most parsers. */
export function answerNames({ format }: EndpointRow, body: Buffer, members: readonly Member[]): AnswerNames {
  if (format !== 'response') return NO_ANSWERS;
  const store = members.findLast(({ name }) => name === 'store');
  const previous = members.findLast(({ name }) => name === 'previous_response_id');
  const isNamed = previous !== undefined && previous.kind === 'string' && isUsual(previous.end - previous.start - 2);
  return {
    previousAnswer: isNamed ? new JsonText(body).text(previous.start, previous.end) : null,
    isStored: store === undefined || kindOf(body[store.start]) === 'null' || body[store.start] === TRUE,
  };
}

const TRUE = 't'.charCodeAt(0);

function isUsual(bytes: number): boolean {
  return bytes > 0 && bytes <= ANSWER_ID_BYTES_MAX;
}
