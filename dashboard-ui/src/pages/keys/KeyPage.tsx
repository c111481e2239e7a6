import { Link, useParams, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import type { KeyUse } from "../../api/types.ts";
import { Badge } from "../../components/Badge.tsx";
import buttonStyles from "../../components/Button.module.css";
import { Button } from "../../components/Button.tsx";
import { formatCount, formatDateTime } from "../../components/format.ts";
import { Loaded } from "../../components/Loaded.tsx";
import { LazyDialog } from "../../components/lazy.tsx";
import { lazyCode } from "../../components/lazy-code.tsx";
import listsStyles from "../../components/lists.module.css";
import { PageHead } from "../../components/PageHead.tsx";
import panelStyles from "../../components/Panel.module.css";
import { toast } from "../../components/toast.ts";
import { AccountUsage } from "../overview/AccountUsage.tsx";
import { KeyAddresses } from "./KeyAddresses.tsx";
import { KeyErrors } from "./KeyErrors.tsx";
import { KeyNotFound } from "./KeyNotFound.tsx";
import { UseKey } from "./UseKey.tsx";
import { useKeyUse } from "./use-key-use.ts";

const revokeKey = lazyCode(async () => (await import("./RevokeKey.tsx")).RevokeKey);

/** Settings → API keys → a key: its state, and what it is used for. */
export function KeyPage() {
  const { keyId } = useParams({ from: "/shell/account/settings/keys/$keyId" });
  const search = useSearch({ from: "/shell/account/settings/keys/$keyId" });
  const use = useKeyUse(keyId);
  const [isRevoking, setRevoking] = useState(false);
  return (
    <>
      <PageHead
        crumb={
          <>
            Settings / <Link to="/settings/keys">API keys</Link>
          </>
        }
        title={use.data?.name ?? "API key"}
      >
        {use.data === undefined ? null : (
          <Link className={buttonStyles.button} to="/audit" search={{ key: keyId }}>
            View requests
          </Link>
        )}
        {use.data?.state === "active" ? (
          <>
            <Link className={buttonStyles.button} to="/settings/keys/$keyId/rotation" params={{ keyId }}>
              {use.data.rotation === null ? "Rotate" : "Open rotation"}
            </Link>
            <Button onClick={() => setRevoking(true)}>Revoke</Button>
          </>
        ) : null}
      </PageHead>
      <Loaded query={use} what="the key" missing={<KeyNotFound />}>
        {(key) => (
          <>
            <Facts apiKey={key} />
            {key.state === "active" ? <UseKey /> : null}
            <AccountUsage search={search} filter={{ key: keyId }}>
              <KeyErrors id={keyId} />
              <KeyAddresses id={keyId} />
            </AccountUsage>
          </>
        )}
      </Loaded>
      {isRevoking && use.data !== undefined ? (
        <LazyDialog
          code={revokeKey}
          props={{
            apiKey: { ...use.data, usage: use.data },
            onRevoked: () => toast(`Key “${use.data.name}” revoked`),
            onClose: () => setRevoking(false),
          }}
        />
      ) : null}
    </>
  );
}

function Facts({ apiKey }: { readonly apiKey: KeyUse }) {
  const { state, keyId, createdAt, revokedAt, lastUsedAt, lastUsedIp, addresses } = apiKey;
  const facts = [
    ["Key", <code key="key">…{keyId}</code>],
    [
      "State",
      <Badge key="state" tone={state === "active" ? "good" : undefined}>
        {state}
      </Badge>,
    ],
    // During an upgrade, a node of the version before may answer, which has neither time.
    ...(createdAt === undefined ? [] : [["Created", formatDateTime(createdAt)] as const]),
    ...(revokedAt == null ? [] : [["Revoked", formatDateTime(revokedAt)] as const]),
    ["Last used", lastUsedAt === null ? "never" : formatDateTime(lastUsedAt)],
    ["Last address", lastUsedIp ?? "–"],
    ["Addresses in 30 days", formatCount(addresses)],
    ["Requests in 24 hours", formatCount(apiKey.requestsLastDay)],
    ["Requests in the last minute", formatCount(apiKey.requestsLastMinute)],
  ] as const;
  return (
    <section className={panelStyles.panel} aria-label="Key">
      <dl className={listsStyles.figures}>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
