import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { MESSAGES, SERVICE_NAMES } from './index.js';

test('every message has its own name and subject, a sender and a server', () => {
  expect(new Set(MESSAGES.map((message) => message.name)).size).toBe(MESSAGES.length);
  expect(new Set(MESSAGES.map((message) => message.subject)).size).toBe(MESSAGES.length);
  for (const message of MESSAGES) {
    expect(message.sentBy.length).toBeGreaterThan(0);
    expect(message.servedBy.length).toBeGreaterThan(0);
    for (const service of [...message.sentBy, ...message.servedBy]) expect(SERVICE_NAMES).toContain(service);
  }
});

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, ObjectSchema>>;
  readonly required?: readonly string[];
}
/** Returns all object schemas in a schema, including itself. */
function objectsIn(schema: unknown): ObjectSchema[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const below = Object.values(schema).flatMap(objectsIn);
  return 'properties' in schema ? [schema as ObjectSchema, ...below] : below;
}
const bodies = MESSAGES.map(({ name, sentBy, body }) => ({ name, sentBy, objects: objectsIn(z.toJSONSchema(body)) }));
const requires = ({ required = [] }: ObjectSchema, ...fields: string[]) =>
  fields.every((one) => required.includes(one));

test('a message with an actor requires the origin next to it', () => {
  const authors = bodies.flatMap(({ name, objects }) =>
    objects.filter(({ properties = {} }) => 'actor' in properties).map((author) => ({ name, author })),
  );
  expect(authors.length).toBeGreaterThan(30);
  for (const { name, author } of authors) {
    const { origin = {} } = author.properties ?? {};
    // A nullable origin fails too: its schema is a choice and not an object.
    expect([name, requires(author, 'actor', 'origin'), requires(origin, 'client', 'agent', 'requestId')]).toEqual([
      name,
      true,
      true,
    ]);
  }
});

test('a command of the dashboard requires an author or an origin', () => {
  const verbs = /\.(add|apply|change|close|create|delete|end|ensure|invite|put|release|rotate|set|sign|use)-/;
  const commands = bodies.filter(({ name, sentBy }) => sentBy.includes('dashboard') && verbs.test(name));
  const without = commands.filter(({ objects: [body = {}] }) => !requires(body, 'author') && !requires(body, 'origin'));
  // accounts.record-access records operators' sign-ins and sign-outs.
  const noted = ['accounts.create-operator-session', 'accounts.end-operator-session'];
  const idempotency = ['accounts.end-idempotent'];
  expect(without.map(({ name }) => name).sort()).toEqual([...noted, ...idempotency].sort());
  expect(commands.length).toBeGreaterThan(30);
});
