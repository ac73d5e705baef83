/** A count, the only content of a provider's text that is repeated to the client. */
const COUNT = String.raw`(\d{1,9})`;
const PROMPT_TOO_LONG = 'prompt is too long for this model';

/**
 * Errors from which coding tools recover by themselves: they compact the conversation, lower
 * `max_tokens`, or drop an image or a file. The texts are the gateway's, with the words that the
 * tools search for.
 */
const RECOVERIES: readonly (readonly [says: RegExp, text: string | ((...counts: string[]) => string)])[] = [
  [
    new RegExp(
      String.raw`input length and .{0,2}max_tokens.{0,2} exceed context limit: ${COUNT} \+ ${COUNT} > ${COUNT}`,
      'i',
    ),
    (input, output, limit) =>
      `input length and \`max_tokens\` exceed context limit: ${input} + ${output} > ${limit}, decrease input length or \`max_tokens\` and try again`,
  ],
  [
    /context[ _-]?(?:length|window|limit)|maximum context|prompt is too long|too many (?:input )?tokens|input is too long/i,
    PROMPT_TOO_LONG,
  ],
  [
    /image dimensions exceed.{0,80}many-image/i,
    'image dimensions exceed the maximum allowed size for many-image requests',
  ],
  [/image dimensions exceed/i, 'image dimensions exceed the maximum allowed size'],
  [/image exceeds/i, 'image exceeds the maximum size that this model takes'],
  [/could not process image/i, 'Could not process image'],
  [
    new RegExp(String.raw`maximum of ${COUNT} pdf pages`, 'i'),
    (pages) => `A maximum of ${pages} PDF pages may be provided.`,
  ],
  [/pdf specified is password protected/i, 'The PDF specified is password protected.'],
  [/pdf specified was not valid/i, 'The PDF specified was not valid.'],
  [
    /tool_use.{0,2} ids were found without .{0,2}tool_result/i,
    '`tool_use` ids were found without `tool_result` blocks immediately after. Each `tool_use` block must have a corresponding `tool_result` block in the next message.',
  ],
  [
    /unexpected .{0,2}tool_use_id.{0,2} found in .{0,2}tool_result/i,
    'unexpected `tool_use_id` found in `tool_result` blocks. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
  ],
  [/tool_use.{0,2} ids must be unique/i, '`tool_use` ids must be unique'],
];

/** Returns the gateway's text for a provider's refusal that a tool can recover from, else null. */
export function findRecoveryText(message: string): string | null {
  for (const [says, text] of RECOVERIES) {
    const found = says.exec(message);
    if (found !== null) return typeof text === 'string' ? text : text(...found.slice(1));
  }
  return null;
}
