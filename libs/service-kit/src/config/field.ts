import type { ConfigField } from './config.js';
import {
  createPlainField,
  problem,
  readNumber,
  formatShown,
  type Absent,
  type Defaulted,
  type Doc,
} from './plain-field.js';
import { readKey, readSecret, readSecretUrl, type KeyOptions, type SecretOptions } from './read-secret.js';
import { createRotatableField, secretField } from './secret-field.js';
import type { Rotatable, Secret } from '../secrets/secret.js';

interface StringOptions extends Defaulted<string> {
  readonly pattern?: RegExp;
  /** Describes `pattern` in words. */
  readonly patternText?: string;
}

interface UrlOptions extends Defaulted<string> {
  /** Accepted schemes without the colon, e.g. `['http', 'https']`. */
  readonly schemes: readonly string[];
}

interface NumberOptions extends Defaulted<number> {
  readonly min: number;
  readonly max: number;
}

interface ListOptions extends Defaulted<readonly string[]> {
  readonly pattern?: RegExp;
  readonly patternText?: string;
}

interface ChoiceOptions<T extends string> extends Defaulted<T> {
  readonly choices: readonly T[];
}

const LIST_ITEMS_MAX = 1_000;
/** The longest delay of a Node timer (2^31 - 1); a longer one would fire at once. */
const TIMER_MAX_MS = 2_147_483_647;

/**
 * Functions that create configuration fields. The key of a field is the name of its environment
 * variable.
 */
export const field = {
  string<const O extends StringOptions>(options: O): ConfigField<string | Absent<O>> {
    return createPlainField(options, (text) => {
      if (options.pattern && !options.pattern.test(text)) {
        return problem(
          `must be ${options.patternText ?? `of the form ${options.pattern.source}`}, not ${formatShown(text)}`,
        );
      }
      return { value: text };
    });
  },

  /** An absolute URL without credentials, kept as text. `secretUrl` is for URLs with them. */
  url<const O extends UrlOptions>(options: O): ConfigField<string | Absent<O>> {
    return createPlainField(options, (text) => {
      const url = URL.canParse(text) ? new URL(text) : null;
      if (!url || !options.schemes.includes(url.protocol.slice(0, -1))) {
        return problem(
          `must be a URL that begins with ${options.schemes.map((scheme) => `${scheme}://`).join(' or ')}`,
        );
      }
      return url.username || url.password ? problem('must not hold a user or password') : { value: text };
    });
  },

  integer<const O extends NumberOptions>(options: O): ConfigField<number | Absent<O>> {
    return createPlainField(options, (text) => readNumber(text, /^-?\d+$/, 'a whole number', options));
  },

  number<const O extends NumberOptions>(options: O): ConfigField<number | Absent<O>> {
    return createPlainField(options, (text) => readNumber(text, /^-?\d+(\.\d+)?$/, 'a number', options));
  },

  /** Whole milliseconds, 1 to 2^31 - 1 unless `min` or `max` is set. */
  durationMs<const O extends Defaulted<number> & { readonly min?: number; readonly max?: number }>(
    options: O,
  ): ConfigField<number | Absent<O>> {
    const bounds = { min: options.min ?? 1, max: options.max ?? TIMER_MAX_MS };
    return createPlainField(options, (text) => readNumber(text, /^\d+$/, 'a whole number of milliseconds', bounds));
  },

  boolean<const O extends Defaulted<boolean>>(options: O): ConfigField<boolean | Absent<O>> {
    return createPlainField(
      options,
      (text) => {
        if (['on', 'true', '1'].includes(text.toLowerCase())) return { value: true };
        if (['off', 'false', '0'].includes(text.toLowerCase())) return { value: false };
        return problem(`must be on or off (true, false, 1 and 0 also do), not ${formatShown(text)}`);
      },
      (value) => (value ? 'on' : 'off'),
    );
  },

  choice<const T extends string, const O extends ChoiceOptions<T>>(
    options: O & ChoiceOptions<T>,
  ): ConfigField<O['choices'][number] | Absent<O>> {
    return createPlainField<O['choices'][number], O>(options, (text) => {
      const choice = options.choices.find((candidate) => candidate === text);
      return choice === undefined
        ? problem(`must be one of ${options.choices.join(', ')}, not ${formatShown(text)}`)
        : { value: choice };
    });
  },

  /** Items separated by commas. Spaces around them and empty items are removed. */
  list<const O extends ListOptions>(options: O): ConfigField<readonly string[] | Absent<O>> {
    return createPlainField<readonly string[], O>(
      options,
      (text) => {
        const items = text
          .split(',')
          .map((item) => item.trim())
          .filter((item) => item !== '');
        if (items.length === 0) return problem('holds no item');
        if (items.length > LIST_ITEMS_MAX)
          return problem(`holds ${items.length} items, at most ${LIST_ITEMS_MAX} are read`);
        const wrong = items.find((item) => options.pattern && !options.pattern.test(item));
        if (wrong !== undefined) {
          return problem(
            `holds ${formatShown(wrong)}; an item must be ${options.patternText ?? `of the form ${options.pattern?.source}`}`,
          );
        }
        return { value: items };
      },
      (items) => items.join(','),
    );
  },

  /** Read from NAME, or from the file that NAME_FILE names. */
  secret<const O extends Doc & SecretOptions>(
    options: O,
  ): ConfigField<Secret | (O extends { readonly optional: true } ? null : never)> {
    return secretField(options, (name, env) => readSecret(name, env, options));
  },

  /** Like `secret`, for a URL that contains a password. */
  secretUrl<const O extends Doc & SecretOptions & { readonly schemes: readonly string[] }>(
    options: O,
  ): ConfigField<Secret | (O extends { readonly optional: true } ? null : never)> {
    return secretField(options, (name, env) => readSecretUrl(name, env, options));
  },

  /**
   * NAME(_FILE), and NAME_PREVIOUS(_FILE) while the old secret must still be accepted. `random`
   * applies to the current one only, so that a weak secret can be replaced.
   */
  rotatableSecret(options: Doc & Omit<SecretOptions, 'optional'>): ConfigField<Rotatable> {
    const { random = false } = options;
    return createRotatableField(options, (name, env, optional) =>
      readSecret(name, env, { ...options, optional, random: random && !optional }),
    );
  },

  /** A key of exactly `bytes` bytes, written as hex or base64 (also base64url). */
  key<const O extends Doc & KeyOptions & { readonly optional?: boolean }>(
    options: O,
  ): ConfigField<Secret<Buffer> | (O extends { readonly optional: true } ? null : never)> {
    return secretField(options, (name, env) => readKey(name, env, { ...options, optional: options.optional === true }));
  },

  /** Like `key`, with a previous one. */
  rotatableKey(options: Doc & KeyOptions): ConfigField<Rotatable<Buffer>> {
    return createRotatableField(options, (name, env, optional) => readKey(name, env, { ...options, optional }));
  },
};
