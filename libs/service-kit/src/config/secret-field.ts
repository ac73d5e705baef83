import type { ConfigField, Outcome } from './config.js';
import type { Doc } from './plain-field.js';
import type { SecretOptions } from './read-secret.js';
import type { Rotatable, Secret } from '../secrets/secret.js';

type SecretOutcome<T> = Outcome<Secret<T> | null>;

export function secretField<V>(
  options: Doc & SecretOptions,
  read: (name: string, env: NodeJS.ProcessEnv) => Outcome<unknown>,
): ConfigField<V> {
  return {
    doc: options.doc,
    secret: true,
    rotatable: false,
    required: options.optional !== true,
    default: null,
    read: (name, env) => read(name, env) as Outcome<V>,
    print: (value) => (value === null ? null : String(value)),
  };
}

export function createRotatableField<T>(
  options: Doc,
  read: (name: string, env: NodeJS.ProcessEnv, optional: boolean) => SecretOutcome<T>,
): ConfigField<Rotatable<T>> {
  return {
    doc: options.doc,
    secret: true,
    rotatable: true,
    required: true,
    default: null,
    read(name, env) {
      const current = read(name, env, false);
      const previous = read(`${name}_PREVIOUS`, env, true);
      if ('problem' in current) return current;
      if ('problem' in previous) return { problem: previous.problem, name: `${name}_PREVIOUS` };
      return { value: { current: current.value as Secret<T>, previous: previous.value } };
    },
    print: (value) => `${value.current}${value.previous ? ' and a previous one' : ''}`,
  };
}
