import { useMutation, useQuery } from "@tanstack/react-query";
import { api } from "../../api/client.ts";
import { changeErrorText } from "../../api/errors.ts";
import { FormDialog } from "../../components/FormDialog.tsx";
import { formatCounted } from "../../components/format.ts";
import { useSigningOut } from "../../components/signing-out.ts";

interface SignOutEverywhereProps {
  /** The number of sessions, once it is known. */
  readonly count: number | undefined;
  readonly onClose: () => void;
}

/** Asks for confirmation, because the user's other devices are signed out, too. */
export function SignOutEverywhere({ count, onClose }: SignOutEverywhereProps) {
  const me = useQuery(api.auth.me.queryOptions());
  const end = useMutation(api.auth.signOutAll.mutationOptions(useSigningOut()));
  const ended =
    count === 1
      ? "This session ends. You have no others."
      : `All your ${count === undefined ? "sessions" : formatCounted(count, "session")} end, including this one.`;
  return (
    <FormDialog
      title="Sign out everywhere?"
      action="Sign out everywhere"
      look="danger"
      isPending={end.isPending}
      error={changeErrorText(end.error, [], "Your sessions may have ended. Try again.")}
      onSubmit={() => end.mutate()}
      onClose={onClose}
    >
      <p>
        {ended}{" "}
        {me.data?.user.role === "operator"
          ? "Management tokens keep working."
          : "The playground's chats are deleted from this browser. API keys and management tokens keep working."}
      </p>
    </FormDialog>
  );
}
