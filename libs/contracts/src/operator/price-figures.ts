import {
  convertExtras,
  convertFigures,
  EXTRA_CLASSES,
  parseUsd,
  type ExtraClass,
  type PriceExtras,
  type PriceFigures,
} from '@gateway/metering';
import type { PricesSpec } from './catalog.js';

/**
 * Number of uses in a unit price. A price per use would need three more decimal places, which are
 * fractions of a nano-USD.
 */
export const USES_PER_PRICE = 1_000n;

type ClassSpec = NonNullable<NonNullable<PricesSpec['classes']>[ExtraClass]>;
type Kinds = Record<'audioInput' | 'audioOutput' | 'imageInput' | 'imageOutput', string | null>;

/**
 * Converts prices of a document to nano-USD: tiers by size, units by name and per use. A unit price
 * that is not a whole number of nano-USD is rounded down.
 * @throws MoneyFormatError
 */
export function figuresFromSpec(spec: PricesSpec): PriceFigures {
  const figures = convertFigures({ ...inOrder(spec), perCall: spec.perCall ?? '0' }, parseUsd);
  return { ...figures, extras: extrasOf(spec) };
}

/** Returns null if only tokens of the standard class have prices. */
function extrasOf(spec: PricesSpec): PriceExtras | null {
  const classes = Object.fromEntries(
    classSpecs(spec).map(([name, prices]) => {
      const kinds = kindsOf(prices);
      return [name, isStated(kinds) ? { ...inOrder(prices), kinds } : inOrder(prices)];
    }),
  );
  const units = Object.fromEntries(
    Object.entries(spec.unitsPerThousand ?? {})
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([unit, ofThousand]) => [unit, parseUsd(ofThousand) / USES_PER_PRICE]),
  );
  const kinds = kindsOf(spec);
  const isEmpty = [classes, units].every((each) => Object.keys(each).length === 0);
  if (isEmpty && !isStated(kinds)) return null;
  return { ...convertExtras({ classes, units: {}, kinds }, parseUsd), units };
}

/** Returns the classes other than the standard one that have prices in a document. */
export function classSpecs({ classes = {} }: PricesSpec): [ExtraClass, ClassSpec][] {
  return EXTRA_CLASSES.flatMap((name) => {
    const prices = classes[name];
    return prices === undefined ? [] : [[name, prices] satisfies [ExtraClass, ClassSpec]];
  });
}

function kindsOf(spec: PricesSpec | ClassSpec): Kinds {
  return {
    audioInput: spec.audioInputPerMillion ?? null,
    audioOutput: spec.audioOutputPerMillion ?? null,
    imageInput: spec.imageInputPerMillion ?? null,
    imageOutput: spec.imageOutputPerMillion ?? null,
  };
}

const isStated = (kinds: Kinds): boolean => Object.values(kinds).some((price) => price !== null);

function inOrder<T extends { aboveInputTokens: number }, S extends { tiers?: T[] | undefined }>(spec: S) {
  return { ...spec, tiers: [...(spec.tiers ?? [])].sort((a, b) => a.aboveInputTokens - b.aboveInputTokens) };
}
