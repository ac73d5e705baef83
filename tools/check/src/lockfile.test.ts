import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { satisfies, validRange } from 'semver';

const NODE = '20.20.2';

interface LockedPackage {
  readonly version?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly engines?: { readonly node?: string } | readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const lock = JSON.parse(readFileSync(new URL('../../../package-lock.json', import.meta.url), 'utf8')) as {
  packages: Record<string, LockedPackage>;
};
const packages = Object.entries(lock.packages);

test(`every locked package runs on Node ${NODE}`, () => {
  const unfit = packages.flatMap(([path, { engines, version }]) => {
    const range = Array.isArray(engines) ? undefined : (engines as { node?: string } | undefined)?.node;
    if (range === undefined || validRange(range) === null || satisfies(NODE, range)) return [];
    return [`${path}@${version} wants Node ${range}`];
  });
  expect(packages.length).toBeGreaterThan(100);
  expect(unfit).toEqual([]);
});

test("the project's packages pin every dependency exactly", () => {
  const loose = packages
    .filter(([path]) => path === '' || !path.includes('node_modules'))
    .flatMap(([path, { dependencies = {}, devDependencies = {}, optionalDependencies = {} }]) =>
      Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies })
        .filter(([, version]) => !/^(npm:[@\w./-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
        .map(([name, version]) => `${path}: ${name}@${version}`),
    );
  expect(loose).toEqual([]);
});

test('the lockfile names no host, so that users choose the registry', () => {
  const hosts = packages.filter(([, { resolved }]) => resolved !== undefined && /^https?:/.test(resolved));
  expect(hosts.map(([path]) => path)).toEqual([]);
});

test('every optional package is locked, because npm otherwise refuses to install', () => {
  const names = new Set(packages.map(([path]) => path.split('node_modules/').at(-1)));
  const missing = packages.flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !names.has(name))
      .map((name) => `${path}: ${name}`),
  );
  expect(missing).toEqual([]);
});
