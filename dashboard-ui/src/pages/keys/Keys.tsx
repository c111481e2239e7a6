import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/client.ts";
import type { ListedKey } from "../../api/types.ts";
import { Answer } from "../../components/Answer.tsx";
import { Button } from "../../components/Button.tsx";
import { formatCount } from "../../components/format.ts";
import { LearnMore } from "../../components/LearnMore.tsx";
import { Empty, Notice } from "../../components/Notice.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import textStyles from "../../components/text.module.css";
import { CreateKey } from "./CreateKey.tsx";
import { KeyList } from "./KeyList.tsx";
import { RevokeKey } from "./RevokeKey.tsx";

/** The refresh interval of the visible list. */
const LIVE_MS = 5_000;

type OpenDialog = { readonly kind: "create" } | { readonly kind: "revoke"; readonly key: ListedKey };

/** Settings → API Keys. */
export function Keys() {
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const [revoked, setRevoked] = useState<string | null>(null);
  const search = useSearch({ from: "/shell/account/settings/keys" });
  const account = useQuery(api.account.get.queryOptions());
  const list = useQuery(api.keys.list.queryOptions(undefined, { refetchInterval: LIVE_MS }));

  const keys = list.data?.keys ?? [];
  const active = keys.filter((key) => key.state === "active").length;
  const limit = account.data?.keyLimit ?? null;
  const full = limit !== null && active >= limit;

  return (
    <>
      <PageHead
        crumb="Settings"
        title="API keys"
        lead="Keys work with every model. Create one key per deployment."
      >
        <Button
          look="primary"
          disabled={full || list.isPending}
          onClick={() => setDialog({ kind: "create" })}
        >
          Create key
        </Button>
      </PageHead>

      {full ? (
        <Notice tone="warning">
          The account has reached its limit of {formatCount(active)} active keys. Revoke one to create
          another.
        </Notice>
      ) : null}
      <p className={textStyles.visuallyHidden} role="status">
        {revoked === null ? "" : `Key “${revoked}” revoked.`}
      </p>
      <Answer query={list} what="keys">
        {({ keys: all }) =>
          all.length === 0 ? (
            <Empty title="No keys yet">
              <p>Create a key, store it as a secret in your application's environment, and send a request.</p>
              <LearnMore about="keys" />
            </Empty>
          ) : (
            <>
              <KeyList keys={all} search={search} revoke={(key) => setDialog({ kind: "revoke", key })} />
              {list.data?.nextCursor == null ? null : (
                <p className={textStyles.small}>
                  Showing the first {formatCount(all.length)} keys, active ones first. Use the SDK or the
                  command line to list all keys.
                </p>
              )}
            </>
          )
        }
      </Answer>

      {dialog?.kind === "create" ? (
        <CreateKey
          onClose={() => {
            setDialog(null);
            // A session that expired while the key was shown leads to the sign-in page now.
            void list.refetch();
          }}
        />
      ) : null}
      {dialog?.kind === "revoke" ? (
        <RevokeKey
          // The key may be used while the dialog is open, so the dialog shows its latest state.
          apiKey={keys.find(({ id }) => id === dialog.key.id) ?? dialog.key}
          onRevoked={() => setRevoked(dialog.key.name)}
          onClose={() => setDialog(null)}
        />
      ) : null}
    </>
  );
}
