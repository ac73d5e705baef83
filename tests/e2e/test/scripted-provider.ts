import type { IncomingHttpHeaders } from 'node:http';
import { startHttpServer } from './http-server.js';

export interface ReceivedRequest {
  /** Without the query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** One response, plain and as a stream. An event with a type also has an `event:` line. */
export interface ScriptedAnswer {
  readonly plain: object;
  readonly events: readonly object[];
}

/** A provider on a free loopback port. */
export interface ScriptedProvider {
  readonly url: string;
  readonly seen: readonly ReceivedRequest[];
  close(): Promise<void>;
}

/**
 * Starts a provider whose responses come from the script.
 * @param script returns null for the test requests of `providers add`, which get a short text
 */
export async function startScriptedProvider(
  script: (request: ReceivedRequest, number: number) => Promise<ScriptedAnswer | null> | ScriptedAnswer | null,
): Promise<ScriptedProvider> {
  const seen: ReceivedRequest[] = [];
  const server = await startHttpServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const path = (request.url ?? '').replace(/\?.*$/, '');
      const one = { path, headers: request.headers, text: Buffer.concat(chunks).toString() };
      seen.push(one);
      void Promise.resolve(script(one, seen.length)).then((scripted) => {
        const { plain, events } = scripted ?? testAnswer(path);
        const isStreamed = one.text.includes('"stream":true');
        response.writeHead(200, { 'content-type': isStreamed ? 'text/event-stream' : 'application/json' });
        response.end(isStreamed ? events.map(eventText).join('') : JSON.stringify(plain));
      });
    });
  });
  return {
    url: server.url,
    seen,
    close: () => server.close(),
  };
}

export function eventText(event: object): string {
  return `${'type' in event ? `event: ${String(event.type)}\n` : ''}data: ${JSON.stringify(event)}\n\n`;
}

function testAnswer(path: string): ScriptedAnswer {
  if (path.endsWith('/count_tokens')) return { plain: { input_tokens: 40 }, events: [] };
  if (path.endsWith('/responses'))
    return responseAnswer([textItem('msg_1', 'Hi.')], { input_tokens: 9, output_tokens: 2 });
  if (path.endsWith('/messages')) return messageAnswer([textBlock('Hi.')], { input_tokens: 9, output_tokens: 2 });
  if (path.endsWith('/embeddings')) return embeddingAnswer({ prompt_tokens: 9, total_tokens: 9 });
  return chatAnswer({ prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 });
}

/**
 * Returns a chat completion. `more` has additional fields of the body and of the last chunk,
 * `texts` the chunks of the text.
 */
export function chatAnswer(usage: object, more: object = {}, texts: readonly string[] = ['Hi.']): ScriptedAnswer {
  const common = { id: 'chatcmpl_1', created: 1_790_000_000, model: 'scripted' };
  const choice = { index: 0, finish_reason: 'stop' };
  const chunk = { ...common, object: 'chat.completion.chunk' };
  return {
    plain: {
      ...common,
      object: 'chat.completion',
      choices: [{ ...choice, message: { role: 'assistant', content: texts.join('') } }],
      usage,
      ...more,
    },
    events: [
      ...texts.map((content) => ({ ...chunk, choices: [{ index: 0, delta: { role: 'assistant', content } }] })),
      { ...chunk, choices: [{ ...choice, delta: {} }] },
      { ...chunk, choices: [], usage, ...more },
    ],
  };
}

export function embeddingAnswer(usage: object): ScriptedAnswer {
  const data = [{ object: 'embedding', index: 0, embedding: [0.25, -0.5] }];
  return { plain: { object: 'list', data, model: 'scripted', usage }, events: [] };
}

/** An item of a response's output. */
export interface OutputItem {
  readonly type: string;
  readonly id: string;
  readonly content?: readonly { readonly text: string }[];
}

export function textItem(id: string, text: string): OutputItem {
  const content = [{ type: 'output_text', text, annotations: [] }];
  return { type: 'message', id, role: 'assistant', status: 'completed', content } as OutputItem;
}

/** OpenAI charges only for `search`, not for `open_page` and `find_in_page`. */
export function searchItem(id: string, action: 'search' | 'open_page' | 'find_in_page'): OutputItem {
  return { type: 'web_search_call', id, status: 'completed', action: { type: action } } as OutputItem;
}

/**
 * Returns a response of the responses protocol. `more` has additional fields of the complete
 * response.
 */
export function responseAnswer(output: readonly OutputItem[], usage: object, more: object = {}): ScriptedAnswer {
  const response = { id: `resp_${output[0]?.id}`, object: 'response', created_at: 1_790_000_000, output: [] };
  const completed = { ...response, status: 'completed', output, usage, ...more };
  const events: object[] = [
    { type: 'response.created', response: { ...response, status: 'in_progress' } },
    ...output.flatMap(itemEvents),
    { type: 'response.completed', response: completed },
  ];
  return { plain: completed, events: events.map((event, sequence_number) => ({ ...event, sequence_number })) };
}

function itemEvents(item: OutputItem, output_index: number): object[] {
  const texts = item.content ?? [];
  const at = { item_id: item.id, output_index, content_index: 0 };
  const added = item.content === undefined ? item : { ...item, status: 'in_progress', content: [] };
  return [
    { type: 'response.output_item.added', output_index, item: added },
    ...texts.map(({ text }) => ({ type: 'response.output_text.delta', ...at, delta: text })),
    { type: 'response.output_item.done', output_index, item },
  ];
}

/** A content block of a message, complete and as the start and delta of its events. */
export interface Block {
  readonly plain: object;
  readonly start: object;
  readonly delta: object | null;
}

export function textBlock(text: string): Block {
  return { plain: { type: 'text', text }, start: { type: 'text', text: '' }, delta: { type: 'text_delta', text } };
}

/** Returns a message. Its stream reports the complete usage twice, first with one output token. */
export function messageAnswer(
  blocks: readonly Block[],
  usage: object,
  { id = 'msg_1', stopReason = 'end_turn' }: { id?: string; stopReason?: string } = {},
): ScriptedAnswer {
  const message = { id, type: 'message', role: 'assistant', model: 'scripted' };
  const stop = { stop_reason: stopReason, stop_sequence: null };
  const begun = { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } };
  return {
    plain: { ...message, ...stop, content: blocks.map(({ plain }) => plain), usage },
    events: [
      { type: 'message_start', message: begun },
      ...blocks.flatMap(blockEvents),
      { type: 'message_delta', delta: stop, usage },
      { type: 'message_stop' },
    ],
  };
}

function blockEvents({ start, delta }: Block, index: number): object[] {
  return [
    { type: 'content_block_start', index, content_block: start },
    ...(delta === null ? [] : [{ type: 'content_block_delta', index, delta }]),
    { type: 'content_block_stop', index },
  ];
}
