import type { CatalogUpstream } from "../../api/types.ts";
import { SlashedText } from "../../components/SlashedText.tsx";

/** The dialect and the address of an upstream. */
export function Dialect({ upstream }: { readonly upstream: CatalogUpstream }) {
  const { dialect, baseUrl } = upstream;
  if (dialect === "sandbox") return "sandbox, in this process";
  return (
    <>
      {dialect}
      {baseUrl === "" ? null : (
        <>
          {" · "}
          <code>
            <SlashedText>{baseUrl}</SlashedText>
          </code>
        </>
      )}
    </>
  );
}
