import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, Outlet, useNavigate } from "@tanstack/react-router";
import { api, queryClient } from "../api/client.ts";
import { errorTextOf } from "../api/errors.ts";
import { Button } from "./Button.tsx";
import { Mark } from "./Mark.tsx";
import { Notice } from "./Notice.tsx";

/** What surrounds every page of someone who is signed in. */
export function Shell() {
  const navigate = useNavigate();
  const me = useQuery(api.auth.me.queryOptions());
  const info = useQuery(api.service.info.queryOptions(undefined, { staleTime: Number.POSITIVE_INFINITY }));
  const signOut = useMutation(
    api.auth.signOut.mutationOptions({
      onSuccess: async () => {
        queryClient.clear();
        await navigate({ to: "/sign-in" });
      },
    }),
  );
  const account = me.data?.account;
  const isOperator = me.data?.user.role === "operator";

  return (
    <div className="shell">
      <a className="skip-link" href="#main">
        Skip to content
      </a>
      <header className="topbar">
        <Link to="/settings/keys" className="brand">
          <Mark />
          <span>{info.data?.serviceName ?? ""}</span>
        </Link>
        <nav aria-label="Main" className="navigation">
          {isOperator ? (
            <Link to="/operator" activeProps={{ "aria-current": "page" }}>
              Operator
            </Link>
          ) : (
            <>
              <Link to="/settings/keys" activeProps={{ "aria-current": "page" }}>
                API keys
              </Link>
              <Link to="/audit" activeProps={{ "aria-current": "page" }}>
                Audit log
              </Link>
            </>
          )}
          <Link to="/settings/tokens" activeProps={{ "aria-current": "page" }}>
            Management tokens
          </Link>
          {isOperator ? null : (
            <Link to="/settings/account" activeProps={{ "aria-current": "page" }}>
              Account
            </Link>
          )}
        </nav>
        <div className="account">
          <span className="account-name">{account?.name}</span>
          {account == null ? null : <span className="badge">{account.plan}</span>}
          <Button busy={signOut.isPending} onClick={() => signOut.mutate()}>
            Sign out
          </Button>
        </div>
      </header>
      {signOut.error === null ? null : (
        <Notice tone="error">
          <p>You are still signed in. {errorTextOf(signOut.error)}</p>
        </Notice>
      )}
      {account?.state === "suspended" ? (
        <Notice tone="warning">
          <p>
            This account is suspended: requests with its keys are refused. Ask the operator of the service
            why.
          </p>
        </Notice>
      ) : null}
      <main id="main" tabIndex={-1}>
        <Outlet />
      </main>
    </div>
  );
}
