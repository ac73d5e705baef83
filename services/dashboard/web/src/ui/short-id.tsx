/** From so many characters on an id loses its middle. */
const WHOLE_MAX = 20;
const BEGIN = 10;
const END = 6;

/**
 * An id in a column: the beginning says what it is and when it was made, the end tells it from
 * others. All of it on hover.
 */
export function ShortId({ id }: { readonly id: string }) {
  return (
    <span className="code nowrap" title={id}>
      {shortId(id)}
    </span>
  );
}

/** A long id without its middle. */
export function shortId(id: string): string {
  return id.length <= WHOLE_MAX ? id : `${id.slice(0, BEGIN)}…${id.slice(-END)}`;
}
