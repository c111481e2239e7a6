import { useMutation, useQuery } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { api, client, queryClient } from "../../api/client.ts";
import { changeErrorText, errorTextAt } from "../../api/errors.ts";
import { Button } from "../../components/Button.tsx";
import { classes } from "../../components/classes.ts";
import formStyles from "../../components/form.module.css";
import { FormError } from "../../components/Notice.tsx";
import panelStyles from "../../components/Panel.module.css";
import { PasswordField } from "../../components/PasswordField.tsx";
import { toast } from "../../components/toast.ts";

/** The form that changes the user's password and ends every other session. */
export function Password() {
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const [revokeTokens, setRevokeTokens] = useState(false);
  const me = useQuery(api.auth.me.queryOptions());
  const change = useMutation({
    mutationFn: () => client.auth.changePassword.mutate({ current, next, revokeTokens }),
    onSuccess: () => {
      toast("Password changed", "All other sessions were signed out.");
      setCurrent("");
      setNext("");
      setRevokeTokens(false);
      void queryClient.invalidateQueries({ queryKey: api.auth.sessions.queryKey() });
      void queryClient.invalidateQueries(api.account.actions.pathFilter());
      void queryClient.invalidateQueries(api.tokens.list.pathFilter());
    },
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    change.mutate();
  };
  const formError = changeErrorText(
    change.error,
    ["current", "next"],
    "The password may have been changed. Try again; if the current password is refused then, the new one holds.",
  );
  return (
    <section className={panelStyles.panel} aria-labelledby="password">
      <h2 id="password">Password</h2>
      <form className={classes(formStyles.form, formStyles.narrow)} onSubmit={submit}>
        {/* The hidden field names the user for password managers. */}
        <input type="text" autoComplete="username" value={me.data?.user.email ?? ""} readOnly hidden />
        <PasswordField
          label="Current password"
          autoComplete="current-password"
          required
          value={current}
          error={errorTextAt(change.error, "current")}
          onChange={(event) => setCurrent(event.target.value)}
        />
        <PasswordField
          label="New password"
          hint="At least 10 characters. Changing it ends all other sessions."
          autoComplete="new-password"
          required
          minLength={10}
          maxLength={200}
          value={next}
          error={errorTextAt(change.error, "next")}
          onChange={(event) => setNext(event.target.value)}
        />
        <label className={formStyles.check}>
          <input
            type="checkbox"
            checked={revokeTokens}
            onChange={({ target }) => setRevokeTokens(target.checked)}
          />
          Also revoke my management tokens
        </label>
        <FormError text={formError} />
        <div>
          <Button type="submit" busy={change.isPending}>
            Change password
          </Button>
        </div>
      </form>
    </section>
  );
}
