import { useMutation } from "@tanstack/react-query";
import { type SubmitEvent, useId, useRef } from "react";
import { api } from "../../../api/client.ts";
import { errorFieldOf, errorTextAt, errorTextOf } from "../../../api/errors.ts";
import type { AccountDetails } from "../../../api/types.ts";
import { Button } from "../../../components/Button.tsx";
import formStyles from "../../../components/form.module.css";
import { formatCount } from "../../../components/format.ts";
import { FormError, Notice } from "../../../components/Notice.tsx";
import panelStyles from "../../../components/Panel.module.css";
import { Segmented } from "../../../components/Segmented.tsx";
import textStyles from "../../../components/text.module.css";
import { toast } from "../../../components/toast.ts";
import { useKept, useKeptDraft } from "../../../components/use-kept-draft.ts";
import consoleStyles from "../console.module.css";
import accountIpRulesStyles from "./AccountIpRules.module.css";
import { changeOptions, clearedOf } from "./changes.ts";
import { givenReason, Reason } from "./Reason.tsx";
import { TextArea } from "./TextArea.tsx";
import { TryAddress } from "./TryAddress.tsx";

type Rules = AccountDetails["ipRules"];

/** Rules as typed. */
interface WrittenRules {
  readonly mode: Rules["mode"];
  /** One network per line. */
  readonly networks: string;
}

const MODES: readonly { readonly value: Rules["mode"]; readonly label: string }[] = [
  { value: "enforce", label: "Enforce" },
  { value: "report", label: "Report only" },
];

/** The account's IP rules, which can be tested before they are set. */
export function IpRules({ account }: { readonly account: AccountDetails }) {
  // Without a draft, the form shows the current rules.
  const [draft, setDraft] = useKeptDraft<WrittenRules>(`of IP rules of ${account.id}`);
  const [reason, setReason] = useKept(`of the reason of IP rules of ${account.id}`, "");
  const formId = useId();
  const networks = useRef<HTMLTextAreaElement>(null);
  const { id, ipRules } = account;
  const { onSuccess, onSettled } = changeOptions(id);
  const setRules = useMutation(
    api.operator.accounts.setIpRules.mutationOptions({
      onSuccess: (answer) => {
        onSuccess(answer);
        toast("IP rules saved");
      },
      onSettled,
    }),
  );
  const written = draft ?? { mode: ipRules.mode, networks: ipRules.networks.join("\n") };
  const rules = rulesOf(written);
  const isDifferent = !isSame(rules, ipRules);
  const isEnterprise = account.plan === "enterprise";
  const write = (change: Partial<WrittenRules>) => {
    if (!setRules.isPending) setRules.reset();
    setDraft({ ...written, ...change });
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const clear = () => {
      setDraft(clearedOf(draft));
      setReason(clearedOf(reason));
    };
    setRules.mutate({ id, rules, ...givenReason(reason) }, { onSuccess: clear });
  };
  const networksError = networksErrorOf(setRules.error);
  const reasonError = errorTextAt(setRules.error, "reason");
  const isElsewhere = setRules.error !== null && networksError === undefined && reasonError === undefined;

  return (
    <section className={panelStyles.panel} aria-labelledby="ip-rules">
      <h2 id="ip-rules">IP rules</h2>
      {isEnterprise ? null : rules.networks.length === 0 ? (
        <p className={textStyles.quiet}>
          IP rules require the enterprise plan. This account is on the {account.plan} plan.
        </p>
      ) : (
        <Notice tone="warning">
          <p>
            IP rules require the enterprise plan. This account is on the {account.plan} plan, so its rules are
            stored but not enforced.
          </p>
        </Notice>
      )}
      <form className={formStyles.form} id={formId} onSubmit={submit}>
        <div className={accountIpRulesStyles.ruleNetworks}>
          <TextArea
            ref={networks}
            label="Networks"
            hint="IPv4 and IPv6 addresses or CIDR blocks, one per line, such as 192.0.2.0/24. Leave empty to allow every address."
            rows={Math.min(12, Math.max(4, rules.networks.length + 1))}
            spellCheck={false}
            autoComplete="off"
            value={written.networks}
            error={networksError}
            onChange={(event) => write({ networks: event.target.value })}
          />
        </div>
        <div className={accountIpRulesStyles.ruleMode}>
          <Segmented label="Mode" value={written.mode} options={MODES} onChange={(mode) => write({ mode })} />
          <p className={formStyles.hint}>{effectOf(rules, isEnterprise)}</p>
        </div>
      </form>
      <TryAddress account={account} rules={rules} isDifferent={isDifferent} />
      <div className={formStyles.form}>
        <Reason form={formId} value={reason} onChange={setReason} error={reasonError} />
        <FormError text={isElsewhere ? errorTextOf(setRules.error) : null} />
        <div className={consoleStyles.consoleRow}>
          <Button type="submit" form={formId} busy={setRules.isPending}>
            Save IP rules
          </Button>
          {isDifferent && !setRules.isPending ? (
            <Button
              onClick={() => {
                setRules.reset();
                setDraft(null);
                // The button disappears, so the focus moves to the field.
                networks.current?.focus();
              }}
            >
              Discard changes
            </Button>
          ) : null}
        </div>
      </div>
    </section>
  );
}

function rulesOf({ mode, networks }: WrittenRules) {
  // Pasted lists often contain commas instead of line breaks.
  return { mode, networks: networks.split(/[\s,;]+/).filter((network) => network !== "") };
}

function isSame(one: Rules, other: Rules): boolean {
  return one.mode === other.mode && String(one.networks) === String(other.networks);
}

function effectOf({ mode, networks }: Rules, isEnterprise: boolean): string {
  if (networks.length === 0) return "Keys may be used from every address.";
  const these = networks.length === 1 ? "this network" : `these ${formatCount(networks.length)} networks`;
  const what = mode === "report" ? "pass and are marked in the request log" : "are refused with 403";
  return `Requests from outside ${these} ${what}${isEnterprise ? "" : ", on the enterprise plan"}.`;
}

/** The error of the whole list or of one network. */
function networksErrorOf(error: unknown): string | undefined {
  const field = errorFieldOf(error);
  return field === "networks" || field?.startsWith("rules.") === true ? errorTextOf(error) : undefined;
}
