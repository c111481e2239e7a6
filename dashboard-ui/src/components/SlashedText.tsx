import { Fragment } from "react";

/** Before a part of a text that follows slashes. */
const AFTER_SLASHES = /(?<=\/)(?!\/)/;

/** The ID of a model or an address of the web, which may be broken after its slashes. */
export function SlashedText({ children }: { readonly children: string }) {
  const [first, ...others] = children.split(AFTER_SLASHES);
  return (
    <>
      {first}
      {others.map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have no other identity.
        <Fragment key={index}>
          <wbr />
          {part}
        </Fragment>
      ))}
    </>
  );
}
