import type { CatalogUpstream } from "../../api/types.ts";

/** The dialect and the address of an upstream. */
export function Dialect({ upstream }: { readonly upstream: CatalogUpstream }) {
  const { dialect, baseUrl } = upstream;
  if (dialect === "sandbox") return "sandbox, in this process";
  const provider = upstream.package;
  return (
    <>
      {provider === null ? dialect : `${dialect} (${provider})`}
      {baseUrl === "" ? null : (
        <>
          {" · "}
          <code>{baseUrl}</code>
        </>
      )}
    </>
  );
}
