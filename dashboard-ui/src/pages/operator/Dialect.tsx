import type { CatalogUpstream } from "../../api/types.ts";
import { SlashedText } from "../../components/SlashedText.tsx";
import consoleStyles from "./console.module.css";

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
          <code className={consoleStyles.baseUrl}>
            <SlashedText>{baseUrl}</SlashedText>
          </code>
        </>
      )}
    </>
  );
}
