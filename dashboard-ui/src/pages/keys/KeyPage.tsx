import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import type { KeyUse } from "../../api/types.ts";
import { Answer } from "../../components/Answer.tsx";
import { Badge } from "../../components/Badge.tsx";
import buttonStyles from "../../components/Button.module.css";
import { formatCount, formatDateTime } from "../../components/format.ts";
import listsStyles from "../../components/lists.module.css";
import { PageHead } from "../../components/PageHead.tsx";
import panelStyles from "../../components/Panel.module.css";
import { GroupLink } from "../overview/AccountUsage.tsx";
import { searchOf } from "../usage/log-filter.ts";
import { accountPerformance } from "../usage/performance-source.ts";
import { accountUsage } from "../usage/sources.ts";
import { UsageSection } from "../usage/UsageSection.tsx";
import { KeyAddresses } from "./KeyAddresses.tsx";
import { KeyErrors } from "./KeyErrors.tsx";
import { UseKey } from "./UseKey.tsx";
import { useKeyUse } from "./use-key-use.ts";

const GROUPINGS = [
  { value: "none", label: "Total" },
  { value: "model", label: "By model" },
] as const;

/** Settings → API keys → a key: its state, and what it is used for. */
export function KeyPage() {
  const { keyId } = useParams({ from: "/shell/account/settings/keys/$keyId" });
  const use = useKeyUse(keyId);
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
        <Link className={buttonStyles.button} to="/audit" search={{ key: keyId }}>
          View requests
        </Link>
        <Link className={buttonStyles.button} to="/settings/keys/$keyId/rotation" params={{ keyId }}>
          Rotate
        </Link>
      </PageHead>
      <Answer query={use} what="the key">
        {(key) => (
          <>
            <Facts apiKey={key} />
            {key.state === "active" ? <UseKey /> : null}
            <KeyUsage id={keyId} />
            <KeyErrors id={keyId} />
            <KeyAddresses id={keyId} />
          </>
        )}
      </Answer>
    </>
  );
}

function Facts({ apiKey }: { readonly apiKey: KeyUse }) {
  const { state, keyId, lastUsedAt, lastUsedIp, addresses, requestsLastMinute, requestsLastDay } = apiKey;
  const facts = [
    ["Key", <code key="key">…{keyId}</code>],
    [
      "State",
      <Badge key="state" tone={state === "active" ? "good" : undefined}>
        {state}
      </Badge>,
    ],
    ["Last used", lastUsedAt === null ? "never" : formatDateTime(lastUsedAt)],
    ["Last address", lastUsedIp ?? "–"],
    ["Addresses in 30 days", formatCount(addresses)],
    ["Requests in 24 hours", formatCount(requestsLastDay)],
    ["Requests in the last minute", formatCount(requestsLastMinute)],
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

function KeyUsage({ id }: { readonly id: string }) {
  const { by, ...choice } = useSearch({ from: "/shell/account/settings/keys/$keyId" });
  const navigate = useNavigate();
  const source = useMemo(() => accountUsage({ key: id }), [id]);
  const performance = useMemo(() => accountPerformance({ key: id }), [id]);
  return (
    <UsageSection
      title="Usage"
      source={source}
      performance={performance}
      choice={choice}
      by={by === "key" ? "none" : by}
      groupings={GROUPINGS}
      onChange={(change) =>
        void navigate({
          to: "/settings/keys/$keyId",
          params: { keyId: id },
          search: { ...choice, by, ...change },
          replace: true,
          resetScroll: false,
        })
      }
      onPick={(pick, grouping) =>
        void navigate({ to: "/audit", search: { ...searchOf(pick, grouping), key: id } })
      }
      nameOf={(group, answer) => (
        <GroupLink group={group} by={answer.by} span={answer.period.span} filter={{ key: id }} />
      )}
    />
  );
}
