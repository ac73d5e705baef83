import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const rooms = ['libs', 'services', 'deploy'].flatMap((top) =>
  readdirSync(join(root, top))
    .map((name) => `${top}/${name}`)
    .filter((room) => existsSync(join(root, room, 'package.json'))),
);

interface Package {
  readonly name: string;
  readonly workspaces?: readonly string[];
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
}

const packageOf = (room: string) => JSON.parse(readFileSync(join(root, room, 'package.json'), 'utf8')) as Package;
const roomOf = new Map(rooms.map((room) => [packageOf(room).name, room]));

test.each(rooms)('%s: the compiler is told of the packages that it depends on', (room) => {
  const { references = [] } = JSON.parse(readFileSync(join(root, room, 'tsconfig.json'), 'utf8')) as {
    references?: { path: string }[];
  };
  const wanted = Object.keys(packageOf(room).dependencies ?? {}).flatMap((name) => roomOf.get(name) ?? []);
  expect(references.map(({ path }) => join(room, path)).sort()).toEqual(wanted.sort());
});

test('`npm start` compiles every service: it starts them as programs, which no import tells', () => {
  const dependencies = Object.keys(packageOf('deploy/local').dependencies ?? {});
  const services = rooms.filter((room) => room.startsWith('services/')).map((room) => packageOf(room).name);
  expect(dependencies).toEqual(expect.arrayContaining(services));
});

test.each(rooms)('%s has a README, and its links lead somewhere', (room) => {
  const text = readFileSync(join(root, room, 'README.md'), 'utf8');
  for (const heading of ['owns', 'does not own', 'invariants', 'decisions']) {
    expect(text.toLowerCase()).toMatch(new RegExp(`^##+ ${heading}`, 'm'));
  }
  expect(brokenLinks(text, room)).toEqual([]);
});

const firstPage = readFileSync(join(root, 'README.md'), 'utf8');

test('the links of the first page lead somewhere, and one to the README of every room', () => {
  expect(brokenLinks(firstPage, '')).toEqual([]);
  const { workspaces = [] } = packageOf('');
  const directories = ['libs', 'services', 'deploy'].flatMap((top) =>
    readdirSync(join(root, top)).map((name) => `${top}/${name}`),
  );
  // A workspace that is named lies deeper than the others; rooms without a package have a README all the same.
  const pages = [...new Set([...directories, ...workspaces])]
    .map((room) => `${room}/README.md`)
    .filter((page) => existsSync(join(root, page)));
  expect(pages.length).toBeGreaterThan(rooms.length);
  expect(pages.filter((page) => !firstPage.includes(`](${page})`))).toEqual([]);
});

test('the first page names every proof', () => {
  const proofs = Object.keys(packageOf('').scripts ?? {}).filter((name) => name.startsWith('prove:'));
  expect(proofs.length).toBeGreaterThan(10);
  expect(proofs.filter((name) => !new RegExp(`\\b${name}\\b`).test(firstPage))).toEqual([]);
});

function brokenLinks(text: string, room: string): string[] {
  return [...text.matchAll(/\]\(([^)#:]+)(#[^)]*)?\)/g)]
    .map(([, path = '']) => path)
    .filter((path) => !existsSync(join(root, room, path)));
}
