import { expect, test } from '@jest/globals';
import { makeUuidV7, timeOfUuidV7 } from '@gateway/contracts/ids';
import { NO_SPAN } from '@gateway/service-kit';
import { ENDPOINT_TABLE, type EndpointSpec } from '../../formats/endpoints.js';
import { type RequestContentHeaders, parseCall } from '../../parse/parse-call.js';
import type { RequestBody } from '../../ports.js';
import type { Call } from '../call.js';
import { type AdmitParts, admitCall } from './admit-call.js';
import { KnownKeys, UnknownKeys } from './key-lookup.js';

const BEGUN = Date.UTC(2026, 10, 20);
const ROW = ENDPOINT_TABLE.get('/v1/chat/completions') as EndpointSpec;
const BODY = Buffer.from(JSON.stringify({ model: 'acme/one', messages: [] }));

/** Admits a call whose body takes `uploadMs` to arrive. Returns the IDs that admission received. */
async function upload(
  contentLength: number | null,
  uploadMs: number,
): Promise<{ opened: string[]; admitted: string[]; freed: number }> {
  let now = 0;
  const heard = { opened: [] as string[], admitted: [] as string[], freed: 0 };
  const parts = {
    deadlines: { nowMs: () => now },
    knownKeys: new KnownKeys(),
    unknownKeys: new UnknownKeys({ GATEWAY_EDGE_UNKNOWN_KEYS: 1, GATEWAY_EDGE_UNKNOWN_KEYS_PER_MINUTE: 1 }),
    bodies: {
      parse: (row: EndpointSpec, headers: RequestContentHeaders, { bytes }: RequestBody) =>
        parseCall(row, headers, bytes),
    },
    catalog: { resolve: (name: string) => name, model: () => undefined },
    settings: { errors: { billingLinkUrl: '', chatBaseUrl: '', messagesBaseUrl: '' } },
    admissionClient: {
      open: async ({ id }: { id: string }) => {
        heard.opened.push(id);
        return { kind: 'opened', account: 'acme' };
      },
      admit: async ({ id }: { id: string }) => {
        heard.admitted.push(id);
        return { kind: 'fault', code: 'admission_error' };
      },
    },
  } as unknown as AdmitParts;
  const request = {
    id: makeUuidV7(BEGUN),
    renewId: () => (request.id = makeUuidV7(BEGUN + now)),
    headers: { contentLength, contentType: 'application/json', classHeaders: [] },
    readBody: async () => {
      now += uploadMs;
      return { kind: 'complete', body: { bytes: BODY, opened: () => undefined, free: () => (heard.freed += 1) } };
    },
  } as unknown as Call['request'];
  const spans = { span: NO_SPAN, admitSpan: NO_SPAN };
  const call = {
    request,
    id: request.id,
    row: ROW,
    digests: [],
    startedAt: BEGUN,
    begunAtMs: 0,
    readyAtMs: 0,
    ...spans,
  };
  await admitCall(parts, call);
  expect(request.id).toBe(heard.admitted[0]);
  expect(heard.freed).toBe(1);
  return heard;
}

// Covers r1
test('admitCall() gets a new ID for the call and its response after a slow upload', async () => {
  const { opened, admitted } = await upload(null, 60_000);
  expect(opened.map(timeOfUuidV7)).toEqual([BEGUN]);
  expect(admitted.map(timeOfUuidV7)).toEqual([BEGUN + 60_000]);
});

test('admitCall() keeps the ID of a call whose body arrives in time', async () => {
  const { opened, admitted } = await upload(null, 15_000);
  expect(admitted).toEqual(opened);
  expect((await upload(100, 1_000)).opened).toEqual([]);
});
