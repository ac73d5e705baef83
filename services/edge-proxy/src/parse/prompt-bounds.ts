import type { CallBounds } from '@gateway/metering';
import { findAttachments } from './attachments.js';
import type { EndpointSpec, PromptForm } from '../formats/endpoints.js';
import { toJsonKind, type Member } from '../json/json-scanner.js';
import { JsonText } from '../json/json-text.js';

export interface PromptBounds extends Omit<CallBounds, 'outputTokensMax'> {
  /** Number of prompts in the body, before `n` multiplies them. */
  readonly prompts: number;
}

/** Members that never become prompt text. Every other string, array or object may. */
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

/** The size that one member adds. */
type PromptSize = Pick<PromptBounds, 'promptBytes' | 'arrayElements' | 'attachments' | 'prompts' | 'files'>;

/**
 * Computes the size of a body's prompt (docs/behaviour.md#worst-case): the JSON bytes of its
 * messages, texts, tools and all other members that may become prompt text. Base64 of attachments
 * and integer tokens are left out of the bytes and counted separately. The result is an upper bound
 * of the text's bytes.
 */
export function computePromptBounds({ prompt }: EndpointSpec, body: Buffer, members: readonly Member[]): PromptBounds {
  let promptBytes = 0;
  let arrayElements = 0;
  let attachments = 0;
  let prompts = 1;
  let files: PromptBounds['files'];
  for (const member of members) {
    const holdsText = member.kind === 'string' || member.kind === 'array' || member.kind === 'object';
    if (!holdsText || NOT_PROMPT.has(member.name)) continue;
    const size = member.name === prompt.name ? measurePrompt(prompt.holds, body, member) : null;
    promptBytes += size?.promptBytes ?? member.end - member.start;
    if (size === null) continue;
    arrayElements = size.arrayElements;
    attachments = size.attachments;
    prompts = size.prompts;
    files = size.files;
  }
  return { promptBytes, arrayElements, attachments, prompts, files };
}

/** Returns null if only the member's bytes count and it is one prompt. */
function measurePrompt(holds: PromptForm, body: Buffer, member: Member): PromptSize | null {
  if (member.kind !== 'array') return null;
  if (holds === 'texts') return measureTexts(new JsonText(body), member);
  const found = findAttachments(body, holds, member);
  if (found === null) return null;
  const promptBytes = member.end - member.start - found.base64Bytes;
  return { promptBytes, arrayElements: 0, attachments: found.count, prompts: 1, files: found.files ?? undefined };
}

/**
 * Measures an array of texts and token arrays, each of which is one prompt. Integers directly in
 * the array are together the tokens of one more prompt.
 */
function measureTexts(text: JsonText, member: Member): PromptSize {
  let promptBytes = 0;
  let tokens = 0;
  let arrays = 0;
  let arrayTokens = 0;
  let texts = 0;
  text.eachElement(member.start, (start) => {
    const kind = toJsonKind(text.bytes[start]);
    const end = text.valueEnd(start);
    if (kind === 'number') tokens += 1;
    else if (kind === 'array' && text.levels === 1) {
      arrays += 1;
      arrayTokens += text.elements;
      if (!hasOnlyNumbers(text, start)) promptBytes += end - start;
    } else {
      texts += 1;
      promptBytes += end - start;
    }
    return end;
  });
  const prompts = Math.max(1, texts + arrays + (tokens > 0 ? 1 : 0));
  return { promptBytes, arrayElements: tokens + arrayTokens, attachments: 0, prompts };
}

/** Returns whether the array at `start` holds only numbers. */
function hasOnlyNumbers(text: JsonText, start: number): boolean {
  let onlyNumbers = true;
  text.eachElement(start, (element) => {
    if (toJsonKind(text.bytes[element]) !== 'number') onlyNumbers = false;
    return text.valueEnd(element);
  });
  return onlyNumbers;
}
