import { useQuery } from "@tanstack/react-query";
import { useLocation, useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { api } from "../../api/client.ts";
import type { ListedKey } from "../../api/types.ts";
import { Button } from "../../components/Button.tsx";
import { formatCount } from "../../components/format.ts";
import { LearnMore } from "../../components/LearnMore.tsx";
import { Loaded } from "../../components/Loaded.tsx";
import { LazyDialog } from "../../components/lazy.tsx";
import { lazyCode, usePreload } from "../../components/lazy-code.tsx";
import { Empty, Notice } from "../../components/Notice.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import textStyles from "../../components/text.module.css";
import { toast } from "../../components/toast.ts";
import { Plus } from "../../icons/icons.ts";
import { KeyList } from "./KeyList.tsx";
import { useFoundKeys } from "./use-found-keys.ts";
import { LIVE_MS, MAX_GOT, useFreshKeys } from "./use-fresh-keys.ts";

const createKey = lazyCode(async () => (await import("./CreateKey.tsx")).CreateKey);
const revokeKey = lazyCode(async () => (await import("./RevokeKey.tsx")).RevokeKey);

/** What is loaded when the page has been open for a while. */
const LATER = [createKey.preload, revokeKey.preload];

/** The refresh interval of a list that is longer than what is seen. The keys on the screen are refreshed more often. */
const WHOLE_LIST_MS = 60_000;

const NO_KEYS: readonly ListedKey[] = [];

type OpenDialog = { readonly kind: "create" } | { readonly kind: "revoke"; readonly key: ListedKey };

/** Settings → API Keys. */
export function Keys() {
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const search = useSearch({ from: "/shell/account/settings/keys" });
  const account = useQuery(api.account.get.queryOptions());
  const list = useQuery(
    api.keys.list.queryOptions(undefined, {
      refetchInterval: ({ state }) => ((state.data?.keys.length ?? 0) > MAX_GOT ? WHOLE_LIST_MS : LIVE_MS),
    }),
  );

  const isCut = list.data?.nextCursor != null;
  const found = useFoundKeys(search.search, list.data?.keys ?? NO_KEYS, isCut);
  const counts = useQuery(api.keys.count.queryOptions(undefined, { enabled: isCut }));

  const [latest] = useFreshKeys(dialog?.kind === "revoke" ? [dialog.key] : []);
  usePreload(LATER);
  useCreationByLink(() => setDialog({ kind: "create" }));

  const keys = list.data?.keys ?? [];
  const active = keys.filter((key) => key.state === "active").length;
  const limit = account.data?.keyLimit ?? null;
  const isFull = limit !== null && active >= limit;

  return (
    <>
      <PageHead
        crumb="Settings"
        title="API keys"
        lead="Keys work with every model. Create one key per deployment."
      >
        <Button
          look="primary"
          icon={<Plus size={16} aria-hidden="true" />}
          disabled={list.isPending}
          offReason={
            isFull ? `The account has reached its limit of ${formatCount(limit)} active keys.` : undefined
          }
          onClick={() => setDialog({ kind: "create" })}
        >
          Create key
        </Button>
      </PageHead>

      {isFull ? <FullNotice active={active} limit={limit} /> : null}
      <Loaded query={list} what="keys">
        {({ keys: all }) =>
          all.length === 0 ? (
            <NoKeys />
          ) : (
            <>
              <KeyList
                keys={found.keys.length === 0 ? all : [...all, ...found.keys]}
                found={found}
                total={
                  isCut && counts.data !== undefined ? counts.data.active + counts.data.revoked : all.length
                }
                search={search}
                revoke={(key) => setDialog({ kind: "revoke", key })}
              />
              {isCut ? (
                <p className={textStyles.small}>
                  The list has the first {formatCount(all.length)} keys, active ones first. Search to find the
                  others. The SDK and the command line list all keys.
                </p>
              ) : null}
            </>
          )
        }
      </Loaded>

      {dialog?.kind === "create" ? (
        <LazyDialog
          code={createKey}
          props={{
            onClose: () => {
              setDialog(null);
              // A session that expired while the key was shown leads to the sign-in page now.
              void list.refetch();
            },
          }}
        />
      ) : null}
      {dialog?.kind === "revoke" ? (
        <LazyDialog
          code={revokeKey}
          props={{
            // The key may be used while the dialog is open, so the dialog shows its latest state.
            apiKey: latest ?? dialog.key,
            onRevoked: () => toast(`Key “${dialog.key.name}” revoked`),
            onClose: () => setDialog(null),
          }}
        />
      ) : null}
    </>
  );
}

function FullNotice({ active, limit }: { readonly active: number; readonly limit: number }) {
  return (
    <Notice tone="warning">
      {active > limit
        ? `The account has ${formatCount(active)} active keys; its limit is ${formatCount(limit)}.`
        : `The account has reached its limit of ${formatCount(limit)} active keys.`}{" "}
      Revoke keys to create another. You can still rotate a key: its successor may exceed the limit until you
      revoke one of the two.
    </Notice>
  );
}

function NoKeys() {
  return (
    <Empty title="No keys yet" art="keys">
      <p>Create a key, store it as a secret in your application's environment, and send a request.</p>
      <LearnMore about="keys" />
    </Empty>
  );
}

/** A link to `#create` opens the form. */
function useCreationByLink(create: () => void): void {
  const { hash } = useLocation();
  const navigate = useNavigate({ from: "/settings/keys" });
  useEffect(() => {
    if (hash !== "create") return;
    create();
    void navigate({ hash: "", search: true, replace: true });
  });
}
