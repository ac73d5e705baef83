import { expect, test } from '@jest/globals';
import { findRecoveryText } from './recovery-text.js';

/**
 * The provider's text, the client's text, and the pattern that Claude Code searches for. The
 * patterns are from its published bundle, as read in public repositories of gateways and agents
 * that match the same words.
 */
test.each<[string, string | null, RegExp | null]>([
  [
    'input length and `max_tokens` exceed context limit: 188059 + 20000 > 200000, decrease input length or `max_tokens` and try again',
    'input length and `max_tokens` exceed context limit: 188059 + 20000 > 200000, decrease input length or `max_tokens` and try again',
    /input length and `max_tokens` exceed context limit: (\d+) \+ (\d+) > (\d+)/,
  ],
  ['prompt is too long: 210000 tokens > 200000 maximum', 'prompt is too long for this model', /prompt is too long/],
  ["This model's maximum context length is 8192 tokens.", 'prompt is too long for this model', /prompt is too long/],
  [
    'messages.44.content.1.image.source.base64: image exceeds 5 MB maximum: 11641928 bytes > 5242880 bytes',
    'image exceeds the maximum size that this model takes',
    /image exceeds.*maximum/,
  ],
  [
    'messages.18.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels',
    'image dimensions exceed the maximum allowed size for many-image requests',
    /image dimensions exceed.*many-image/,
  ],
  [
    'At least one of the image dimensions exceed max allowed size: 8000 pixels',
    'image dimensions exceed the maximum allowed size',
    /image dimensions exceed/,
  ],
  ['Could not process image', 'Could not process image', /Could not process image/],
  [
    'A maximum of 100 PDF pages may be provided.',
    'A maximum of 100 PDF pages may be provided.',
    /maximum of \d+ PDF pages/,
  ],
  [
    'The PDF specified is password protected.',
    'The PDF specified is password protected.',
    /PDF specified is password protected/,
  ],
  ['The PDF specified was not valid.', 'The PDF specified was not valid.', /PDF specified was not valid/],
  [
    'messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01SECRET.',
    '`tool_use` ids were found without `tool_result` blocks immediately after. Each `tool_use` block must have a corresponding `tool_result` block in the next message.',
    /`tool_use` ids were found without `tool_result` blocks immediately after/,
  ],
  [
    'messages.0.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_01SECRET.',
    'unexpected `tool_use_id` found in `tool_result` blocks. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
    /unexpected `tool_use_id` found in `tool_result`/,
  ],
  [
    'messages.1.content.1: `tool_use` ids must be unique',
    '`tool_use` ids must be unique',
    /`tool_use` ids must be unique/,
  ],
  ['temperature is too hot', null, null],
])("recoveryText() of a provider's text: %s", (message, text, looked) => {
  expect(findRecoveryText(message)).toBe(text);
  if (looked !== null) expect(text).toMatch(looked);
});

test("recoveryText() repeats only counts of a provider's text", () => {
  expect(
    findRecoveryText('SECRET input length and `max_tokens` exceed context limit: 1 + 2 > 3, ask SECRET'),
  ).not.toContain('SECRET');
  expect(findRecoveryText(`input length and \`max_tokens\` exceed context limit: ${'9'.repeat(50)} + 2 > 3`)).toBe(
    'prompt is too long for this model',
  );
});
