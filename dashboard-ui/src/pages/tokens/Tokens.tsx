import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/client.ts";
import type { ListedToken } from "../../api/types.ts";
import { Button } from "../../components/Button.tsx";
import { LearnMore } from "../../components/LearnMore.tsx";
import { Loaded } from "../../components/Loaded.tsx";
import { Empty } from "../../components/Notice.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import { toast } from "../../components/toast.ts";
import { Plus } from "../../icons/icons.ts";
import { CreateToken } from "./CreateToken.tsx";
import { RevokeToken } from "./RevokeToken.tsx";
import { TokenTable } from "./TokenTable.tsx";

type OpenDialog = { readonly kind: "create" } | { readonly kind: "revoke"; readonly token: ListedToken };

/** Settings → Management tokens. */
export function Tokens() {
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const list = useQuery(api.tokens.list.queryOptions());
  const me = useQuery(api.auth.me.queryOptions());
  const isOperator = me.data?.user.role === "operator";

  return (
    <>
      <PageHead
        crumb="Settings"
        title="Management tokens"
        lead={
          isOperator
            ? "Automate management of accounts, plans, IP rules and credits from scripts."
            : "Automate key management from scripts. API keys can't create or revoke keys."
        }
      >
        <Button
          look="primary"
          icon={<Plus size={16} aria-hidden="true" />}
          disabled={list.isPending}
          onClick={() => setDialog({ kind: "create" })}
        >
          Create token
        </Button>
      </PageHead>

      <Loaded query={list} what="tokens">
        {({ tokens }) =>
          tokens.length === 0 ? (
            <Empty title="No management tokens" art="keys">
              <p>
                {isOperator
                  ? "Create a token to manage accounts from a script."
                  : "Create a token to manage keys from a script."}
              </p>
              <LearnMore about="tokens" />
            </Empty>
          ) : (
            <TokenTable tokens={tokens} revoke={(token) => setDialog({ kind: "revoke", token })} />
          )
        }
      </Loaded>

      {dialog?.kind === "create" ? (
        <CreateToken
          onClose={() => {
            setDialog(null);
            // A session that expired while the token was shown leads to the sign-in page now.
            void list.refetch();
          }}
        />
      ) : null}
      {dialog?.kind === "revoke" ? (
        <RevokeToken
          token={dialog.token}
          onRevoked={() => toast(`Token “${dialog.token.name}” revoked`)}
          onClose={() => setDialog(null)}
        />
      ) : null}
    </>
  );
}
