import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { EXAMPLES } from '../../test/examples.js';
import { errorOf, startOperatorWorld, type OperatorWorld } from '../../test/operator-world.js';
import { secretFrom } from '@gateway/contracts/ids';

let world: OperatorWorld;
beforeAll(async () => {
  world = await startOperatorWorld();
});
afterAll(() => world.stop());
beforeEach(() => world.reset());

const TOKEN = secretFrom('mgo_', 'a'.repeat(40));
const ADA = {
  id: 'opr_2',
  name: 'ada',
  role: 'operator',
  createdAt: '2026-11-20T12:00:00.000Z',
  createdBy: 'operator:root',
};
const CALL = EXAMPLES['releaseSlot']?.path.split('/').at(-1) ?? '';
const ENDED = { kind: 'change', action: 'end_call', account: 'acc_1', objectId: CALL };
const TESTED = { kind: 'access', action: 'test_source', account: null, objectId: 'src' };

/** Returns how many requests a message had so far. */
const askedOf = (verb: string) => world.asked.filter(({ name }) => name === verb).length;
const answering = (route: string, answers: Readonly<Record<string, unknown>> = {}) => {
  for (const [name, answer] of Object.entries({ ...EXAMPLES[route]?.answers, ...answers }))
    world.scriptByName(name, () => answer);
};

const ACTIONS: readonly (readonly [what: string, id: string, method: string, verb: string, entry: object])[] = [
  ['a call is ended', 'releaseSlot', 'DELETE', 'admission.release-slot', ENDED],
  ['a source is tested', 'testSource', 'POST', 'edge.test-source', TESTED],
];

test.each(ACTIONS)(
  'the audit log has the operator and the origin before %s',
  async (_what, id, method, verb, entry) => {
    answering(id, { 'accounts.find-operator': { operator: ADA } });
    const notedBefore: unknown[] = [];
    world.scriptByName(verb, () => {
      notedBefore.push(...world.noted);
      return EXAMPLES[id]?.answers[verb];
    });
    const headers = { 'user-agent': 'a program' };
    const answer = await world.send(method, EXAMPLES[id]?.path ?? '', { token: TOKEN, headers });
    expect(answer.status).toBe(EXAMPLES[id]?.status);
    const requestId = answer.headers.get('x-gateway-request-id');
    const origin = { client: '127.0.0.1', agent: 'a program', requestId };
    expect(notedBefore).toEqual([{ ...entry, actor: 'operator:ada', origin }]);
    expect(world.noted).toHaveLength(1);
  },
);

test.each(ACTIONS)('without the audit log the request is refused before %s', async (_what, id, method, verb) => {
  answering(id);
  world.away('accounts');
  const answer = await world.send(method, EXAMPLES[id]?.path ?? '');
  expect([answer.status, errorOf(answer).code]).toEqual([503, 'dependency_unavailable']);
  expect(askedOf(verb)).toBe(0);
});

test('an object that does not exist gets no audit entry', async () => {
  answering('releaseSlot', { 'admission.slots': { slots: [], nextCursor: null } });
  world.refuseByName('catalog.get-source', 'not_found');
  for (const [, id, method, verb] of ACTIONS) {
    const answer = await world.send(method, EXAMPLES[id]?.path ?? '');
    expect([answer.status, askedOf(verb)]).toEqual([404, 0]);
  }
  expect(world.noted).toEqual([]);
});
