const NAME_COLUMNS = 18;
export const DEMO_MESSAGES = { messages: [{ role: 'user', content: 'Say hello.' }] };

/** Returns one line per pair, with all values in one column. */
export function formatPairs(pairs: readonly (readonly [name: string, value: string])[]): string[] {
  return pairs.map(([name, value]) => `${name.padEnd(NAME_COLUMNS)} ${value}`);
}

/** Returns the lines of two requests to paste: one for a complete response and one for a stream. */
export function formatDemoRequests(chatBaseUrl: string, key: string, model: string, separator?: string): string[] {
  const url = `${chatBaseUrl}/chat/completions`;
  const streamed = { stream: true, stream_options: { include_usage: true } };
  return [
    'Try it:',
    '',
    formatCurl('-i', url, key, { model, ...DEMO_MESSAGES }, separator),
    '',
    formatCurl('-iN', url, key, { model, ...DEMO_MESSAGES, ...streamed }, separator),
    '',
  ];
}

/** @param separator between the parts of the command, by default a continued line */
export function formatCurl(flags: string, url: string, key: string, body: object, separator = ' \\\n  '): string {
  return [
    `curl ${flags} ${url}`,
    `-H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json'`,
    `-d '${JSON.stringify(body)}'`,
  ].join(separator);
}
