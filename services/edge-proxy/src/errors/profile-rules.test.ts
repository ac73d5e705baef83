import { expect, test } from '@jest/globals';
import type { ErrorRule } from '@gateway/contracts/operator';
import { recordedShapes } from '../../test/recorded-shapes.js';
import { RULE_ERRORS } from '../../test/rule-errors.js';
import { classifyError } from './error-class.js';
import { readErrorBody } from './reported-error.js';

interface Case {
  readonly status: number | null;
  readonly errorType?: string | undefined;
  readonly text: string;
}

const SHAPES = recordedShapes();

function classOf({ status, errorType, text }: Case, rules: readonly ErrorRule[]): string {
  return classifyError({ status, errorType, reported: readErrorBody(Buffer.from(text)), upstreamModel: 'up', rules })
    .class;
}

/** Returns whether the class of an error changes if only this rule gets another class. */
function fires(each: Case, rules: readonly ErrorRule[], at: number): boolean {
  const marked = rules.map((rule, index): ErrorRule => ({ ...rule, class: index === at ? 'late' : 'item' }));
  const others = rules.map((rule): ErrorRule => ({ ...rule, class: 'item' }));
  return classOf(each, marked) === 'late' && classOf(each, others) !== 'late';
}

const rowsOf = (profile: string) => RULE_ERRORS.filter(([profiles]) => profiles.split(' ').includes(profile));

test.each(SHAPES.map(([profile, shapes]) => [profile.id, profile, shapes] as const))(
  'each error rule of %s matches a known error',
  (id, { errors }, shapes) => {
    const recorded = shapes
      .filter(({ expected }) => typeof expected.errorClass === 'string')
      .flatMap(({ status, headers, isStream, text }): Case[] => {
        const errorType = Object.entries(headers).find(([name]) => name.toLowerCase() === 'x-amzn-errortype')?.[1];
        const texts = isStream ? Array.from(text.matchAll(/^data: *(.+)$/gm), ([, data = '']) => data) : [text];
        return texts.map((each) => ({ status: status === 200 ? null : status, errorType, text: each }));
      });
    const cases = [...recorded, ...rowsOf(id).map(([, status, body]) => ({ status, text: JSON.stringify(body) }))];
    const dead = errors.filter((_rule, at) => !cases.some((each) => fires(each, errors, at)));
    expect(dead).toEqual([]);
  },
);

test.each(SHAPES.map(([profile]) => [profile.id, profile] as const))('errors of %s have their class', (id, profile) => {
  for (const [, status, body, errorClass] of rowsOf(id)) {
    const text = JSON.stringify(body);
    expect([text, classOf({ status, text }, profile.errors)]).toEqual([text, errorClass]);
  }
});
