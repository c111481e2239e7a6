import { useMutation } from "@tanstack/react-query";
import { loadErrorTextOf } from "../api/errors.ts";
import { Button } from "./Button.tsx";
import { Notice } from "./Notice.tsx";

/** A button that exports the list as it is filtered. */
export function ExportButton({ run }: { readonly run: () => Promise<void> }) {
  const download = useMutation({ mutationFn: run });
  return (
    <>
      <Button busy={download.isPending} onClick={() => download.mutate()}>
        Export CSV
      </Button>
      {download.error === null ? null : <Notice tone="error">{loadErrorTextOf(download.error)}</Notice>}
    </>
  );
}
