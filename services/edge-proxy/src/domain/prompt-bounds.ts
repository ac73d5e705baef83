import type { CallBounds } from '@gateway/metering';
import type { Member } from './json-scanner.js';
import { JsonText } from './json-text.js';

export type PromptBounds = Omit<CallBounds, 'outputTokensMax'>;

/** Parts of a message that are no text. Other types count as text: too much rather than too little. */
const ATTACHMENT_PARTS: ReadonlySet<string> = new Set([
  'image_url',
  'input_image',
  'image',
  'input_audio',
  'audio_url',
  'audio',
  'file',
  'input_file',
  'video_url',
  'input_video',
  'video',
]);
/** Members that never become prompt text; every other string, array and object may. */
const NOT_PROMPT: ReadonlySet<string> = new Set([
  'model',
  'stream_options',
  'user',
  'metadata',
  'logit_bias',
  'stop',
  'prompt_cache_key',
  'safety_identifier',
]);
/** A data URL with base64 content. Text that comes in one stays text, or a prompt could be passed off as a picture. */
const DATA_URL = /^data:(?!text\/|application\/(?:json|xml|javascript)\b)[^,"\\]{0,100};base64,/i;
const DATA_URL_HEAD_BYTES = 128;
/** `messages` → message → `content` → part: with fewer levels there is no part. */
const LEVELS_WITH_PARTS = 4;

/**
 * Size of a chat body's prompt (behaviour §2): the JSON bytes of messages, tools and whatever else may become prompt
 * text, without the base64 of attachments; the attachments are counted. An upper bound of the text's own bytes.
 */
export function promptBounds(body: Buffer, members: readonly Member[]): PromptBounds {
  let promptBytes = 0;
  let attachments = 0;
  for (const member of members) {
    const holdsText = member.kind === 'string' || member.kind === 'array' || member.kind === 'object';
    if (!holdsText || NOT_PROMPT.has(member.name)) continue;
    promptBytes += member.end - member.start;
    if (member.name === 'messages' && member.kind === 'array' && member.levels >= LEVELS_WITH_PARTS) {
      const found = attachmentsIn(new JsonText(body), member.start);
      attachments += found.count;
      promptBytes -= found.base64Bytes;
    }
  }
  return { promptBytes, arrayElements: 0, attachments };
}

interface Attachments {
  count: number;
  base64Bytes: number;
}

/** The attachments of a `messages` array: parts of a message's `content`. */
function attachmentsIn(text: JsonText, messagesStart: number): Attachments {
  const found: Attachments = { count: 0, base64Bytes: 0 };
  text.eachElement(messagesStart, (message) => {
    if (text.bytes[message] !== 0x7b) return text.valueEnd(message);
    return text.eachMember(message, (nameStart, nameEnd, value) => {
      const isParts = text.bytes[value] === 0x5b && text.text(nameStart, nameEnd) === 'content';
      return isParts ? text.eachElement(value, (part) => addPart(text, part, found)) : text.valueEnd(value);
    });
  });
  return found;
}

/** Adds one part to what was found, if it is an attachment; returns its end. */
function addPart(text: JsonText, part: number, found: Attachments): number {
  if (text.bytes[part] !== 0x7b) return text.valueEnd(part);
  let type = '';
  let base64Bytes = 0;
  const addString = (holder: string, name: string, start: number, end: number): void => {
    const isAudio = holder === 'input_audio' && name === 'data';
    if (isAudio || isDataUrl(text, start, end)) base64Bytes += end - start - 2;
  };
  const end = text.eachMember(part, (nameStart, nameEnd, value) => {
    const name = text.text(nameStart, nameEnd);
    if (text.bytes[value] === 0x7b) {
      return text.eachMember(value, (innerStart, innerEnd, innerValue) => {
        const innerValueEnd = text.valueEnd(innerValue);
        if (text.bytes[innerValue] === 0x22)
          addString(name, text.text(innerStart, innerEnd), innerValue, innerValueEnd);
        return innerValueEnd;
      });
    }
    const valueEnd = text.valueEnd(value);
    if (text.bytes[value] !== 0x22) return valueEnd;
    if (name === 'type') type = text.text(value, valueEnd);
    else addString('', name, value, valueEnd);
    return valueEnd;
  });
  if (ATTACHMENT_PARTS.has(type)) {
    found.count += 1;
    found.base64Bytes += base64Bytes;
  }
  return end;
}

function isDataUrl(text: JsonText, start: number, end: number): boolean {
  const head = text.bytes.toString('latin1', start + 1, Math.min(end - 1, start + 1 + DATA_URL_HEAD_BYTES));
  return DATA_URL.test(head);
}
