/** Longer IDs are shown without their middle. */
const WHOLE_MAX = 20;
const BEGIN = 10;
const END = 6;

/** An ID in a column without its middle. The full ID is on hover. */
export function ShortId({ id }: { readonly id: string }) {
  return (
    <span className="code nowrap" title={id}>
      {shortId(id)}
    </span>
  );
}

/** Shortens a long ID. */
export function shortId(id: string): string {
  return id.length <= WHOLE_MAX ? id : `${id.slice(0, BEGIN)}…${id.slice(-END)}`;
}
