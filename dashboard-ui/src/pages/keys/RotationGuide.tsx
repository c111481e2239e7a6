import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { isMissing } from "../../api/errors.ts";
import type { KeyUse } from "../../api/types.ts";
import { LoadError, Loading } from "../../components/Notice.tsx";
import { PageHead } from "../../components/PageHead.tsx";
import { KeyNotFound } from "./KeyNotFound.tsx";
import { RevokeKey } from "./RevokeKey.tsx";
import { RotateKey } from "./RotateKey.tsx";
import { RotationSteps } from "./RotationSteps.tsx";
import { useKeyUse } from "./use-key-use.ts";

/** Settings → API Keys → Rotation: replaces a key without downtime. */
export function RotationGuide() {
  const { keyId } = useParams({ from: "/shell/account/settings/keys/$keyId/rotation" });
  return <Guide key={keyId} id={keyId} />;
}

interface OpenDialog {
  readonly kind: "rotate" | "revoke";
  /** The key as it was when the dialog opened: a failed refetch must not remove a key that is being shown. */
  readonly old: KeyUse;
}

function Guide({ id }: { readonly id: string }) {
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const old = useKeyUse(id);
  const successorId = old.data?.rotation?.successorId;
  const successor = useKeyUse(successorId);
  // Which step it is depends on whether the successor was used.
  const isPending = old.isPending || (successorId !== undefined && successor.isPending);
  return (
    <>
      <PageHead
        crumb={
          <>
            Settings / <Link to="/settings/keys">API keys</Link>
          </>
        }
        title={old.data === undefined ? "Rotation" : `Rotate “${old.data.name}”`}
        lead="Replace a key without downtime: both keys work until you revoke the old one."
      />
      {isPending ? <Loading what="the key" /> : null}
      {isMissing(old.error) ? (
        <KeyNotFound />
      ) : old.isError ? (
        <LoadError
          error={old.error}
          busy={old.isFetching}
          hasData={old.data !== undefined}
          retry={() => void old.refetch()}
        />
      ) : null}
      {old.data === undefined || isPending ? null : (
        <RotationSteps
          old={old.data}
          successor={successor.data}
          rotate={() => setDialog({ kind: "rotate", old: old.data })}
          revoke={() => setDialog({ kind: "revoke", old: old.data })}
        />
      )}

      {dialog?.kind === "rotate" ? (
        <RotateKey
          apiKey={dialog.old}
          onClose={() => {
            setDialog(null);
            // A session that expired while the key was shown leads to the sign-in page now.
            void old.refetch();
          }}
        />
      ) : null}
      {dialog?.kind === "revoke" ? (
        <RevokeKey
          apiKey={{ ...dialog.old, usage: old.data ?? dialog.old }}
          onClose={() => setDialog(null)}
        />
      ) : null}
    </>
  );
}
