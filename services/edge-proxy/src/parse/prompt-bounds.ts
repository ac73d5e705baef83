import type { CallBounds } from '@gateway/metering';
import { attachmentsIn } from './attachments.js';
import type { EndpointRow, PromptForm } from '../formats/endpoints.js';
import { kindOf, type Member } from '../json/json-scanner.js';
import { JsonText } from '../json/json-text.js';

export interface PromptBounds extends Omit<CallBounds, 'outputTokensMax'> {
  /** How many answers the body asks for before `n` multiplies them. */
  readonly prompts: number;
}

/** Members that never become prompt text; every other string, array and object may. */
const NOT_PROMPT: ReadonlySet<string> = new Set([
  'model',
  'stream_options',
  'user',
  'metadata',
  'logit_bias',
  'stop',
  'stop_sequences',
  'prompt_cache_key',
  'safety_identifier',
]);

/** What one member adds. */
type PromptSize = Pick<PromptBounds, 'promptBytes' | 'arrayElements' | 'attachments' | 'prompts' | 'files'>;

/**
 * Size of a body's prompt (docs/behaviour.md#worst-case): the JSON bytes of its messages, texts,
 * tools and whatever else may become prompt text, without the base64 of attachments and without
 * tokens given as integers; both of these are counted. The bytes are an upper bound of the text's
 * own.
 */
export function promptBounds({ prompt }: EndpointRow, body: Buffer, members: readonly Member[]): PromptBounds {
  let promptBytes = 0;
  let arrayElements = 0;
  let attachments = 0;
  let prompts = 1;
  let files: PromptBounds['files'];
  for (const member of members) {
    const holdsText = member.kind === 'string' || member.kind === 'array' || member.kind === 'object';
    if (!holdsText || NOT_PROMPT.has(member.name)) continue;
    const size = member.name === prompt.name ? promptSize(prompt.holds, body, member) : null;
    promptBytes += size?.promptBytes ?? member.end - member.start;
    if (size === null) continue;
    arrayElements = size.arrayElements;
    attachments = size.attachments;
    prompts = size.prompts;
    files = size.files;
  }
  return { promptBytes, arrayElements, attachments, prompts, files };
}

/** Null: nothing but its bytes counts, and it is one prompt. */
function promptSize(holds: PromptForm, body: Buffer, member: Member): PromptSize | null {
  if (member.kind !== 'array') return null;
  if (holds === 'texts') return sizeOfTexts(new JsonText(body), member);
  const found = attachmentsIn(body, holds, member);
  if (found === null) return null;
  const promptBytes = member.end - member.start - found.base64Bytes;
  return { promptBytes, arrayElements: 0, attachments: found.count, prompts: 1, files: found.files ?? undefined };
}

/**
 * An array of texts and of token arrays: a prompt each. Integers directly in it are the tokens of
 * one prompt.
 */
function sizeOfTexts(text: JsonText, member: Member): PromptSize {
  let promptBytes = 0;
  let tokens = 0;
  let arrays = 0;
  let arrayTokens = 0;
  let texts = 0;
  text.eachElement(member.start, (start) => {
    const kind = kindOf(text.bytes[start]);
    const end = text.valueEnd(start);
    if (kind === 'number') tokens += 1;
    else if (kind === 'array' && text.levels === 1) {
      arrays += 1;
      arrayTokens += text.elements;
      if (!isNumbers(text, start)) promptBytes += end - start;
    } else {
      texts += 1;
      promptBytes += end - start;
    }
    return end;
  });
  const prompts = Math.max(1, texts + arrays + (tokens > 0 ? 1 : 0));
  return { promptBytes, arrayElements: tokens + arrayTokens, attachments: 0, prompts };
}

/** Whether the array at `start` holds nothing but numbers. */
function isNumbers(text: JsonText, start: number): boolean {
  let onlyNumbers = true;
  text.eachElement(start, (element) => {
    if (kindOf(text.bytes[element]) !== 'number') onlyNumbers = false;
    return text.valueEnd(element);
  });
  return onlyNumbers;
}
