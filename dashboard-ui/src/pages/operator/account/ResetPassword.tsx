import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { client } from "../../../api/client.ts";
import { changeErrorText } from "../../../api/errors.ts";
import { FormDialog } from "../../../components/FormDialog.tsx";
import formStyles from "../../../components/form.module.css";
import { ShownOnce } from "../../../components/ShownOnce.tsx";
import { askAgain } from "./changes.ts";
import usersStyles from "./Users.module.css";

interface ResetPasswordProps {
  readonly email: string;
  readonly onClose: () => void;
}

/** Sets a new password for a user, which is shown once. */
export function ResetPassword({ email, onClose }: ResetPasswordProps) {
  // Only this state holds the password. The result of a mutation would also be cached.
  const [password, setPassword] = useState<string | null>(null);
  const [revokeTokens, setRevokeTokens] = useState(true);
  const reset = useMutation({
    mutationFn: async () => {
      setPassword((await client.operator.users.resetPassword.mutate({ email, revokeTokens })).password);
    },
    onSettled: askAgain,
  });
  if (password !== null) {
    return (
      <ShownOnce
        title="Password reset"
        what="password"
        secret={password}
        lead={<p>{email} can sign in with this password and change it under Settings → Account.</p>}
        onClose={onClose}
      />
    );
  }
  return (
    <FormDialog
      title="Reset the password?"
      action="Reset password"
      isPending={reset.isPending}
      error={changeErrorText(
        reset.error,
        [],
        "The password may have been reset. Try again to see a new one.",
      )}
      onSubmit={() => reset.mutate()}
      onClose={onClose}
      look="danger"
    >
      <p>
        <strong className={usersStyles.userEmail}>{email}</strong> gets a new password, which is shown next.
        All their sessions end. Someone with the old password may have created management tokens. The
        account's API keys keep working.
      </p>
      <label className={formStyles.check}>
        <input
          type="checkbox"
          checked={revokeTokens}
          onChange={({ target }) => setRevokeTokens(target.checked)}
        />
        Also revoke their management tokens
      </label>
    </FormDialog>
  );
}
