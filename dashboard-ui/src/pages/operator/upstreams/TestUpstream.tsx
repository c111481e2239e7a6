import { useMutation } from "@tanstack/react-query";
import { api } from "../../../api/client.ts";
import { loadErrorTextOf } from "../../../api/errors.ts";
import { Button } from "../../../components/Button.tsx";
import { formatCounted, formatDuration } from "../../../components/format.ts";
import textStyles from "../../../components/text.module.css";

/** A button that lists the upstream's models with its credential, and the result. */
export function TestUpstream({ name }: { readonly name: string }) {
  const test = useMutation(api.operator.testUpstream.mutationOptions());
  return (
    <span className={textStyles.pair}>
      <Button aria-label={`Test ${name}`} busy={test.isPending} onClick={() => test.mutate({ name })}>
        Test
      </Button>
      <span className={textStyles.small} role="status">
        {test.isSuccess ? resultText(test.data) : test.isError ? loadErrorTextOf(test.error) : ""}
      </span>
    </span>
  );
}

interface Result {
  readonly problem: string | null;
  readonly models: number;
  readonly durationMs: number;
}

function resultText({ problem, models, durationMs }: Result): string {
  if (problem !== null) return problem;
  const listed = models === 0 ? "" : `, ${formatCounted(models, "model")}`;
  return `Answered in ${formatDuration(durationMs)}${listed}.`;
}
