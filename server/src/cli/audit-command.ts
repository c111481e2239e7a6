import process from "node:process";
import type { Command } from "commander";
import { addActionsCommands } from "../../../sdk/src/cli/actions-commands.ts";
import type { Action, ReconciliationReport } from "../../../sdk/src/operator.ts";
import { nextPage, orNone, usdOf, wholeNumber } from "./output.ts";
import type { CommandParts } from "./run.ts";

/** `audit` lists, exports and verifies the audit trail; `reconcile` compares balances and usage with the sums that they must equal. */
export function addAuditCommands(program: Command, { client, print }: CommandParts): void {
  program
    .command("reconcile")
    .description("compare balances with ledgers and usage with audit entries, and show reserved credit")
    .option(
      "--hours <number>",
      "how many past hours of usage to compare",
      wholeNumber("--hours", 1, 8_784),
      24,
    )
    .action(async ({ hours }: { hours: number }) => {
      const report = await client().checkBooks({ hours });
      const wrong = [...report.mismatches.map(describeBalance), ...report.usageMismatches.map(describeUsage)];
      const { reserved, held, since, uncollected } = report;
      print(report, [
        ...orNone(wrong, "No mismatches."),
        `usage compared since  ${since.toISOString()}`,
        `reserved by nodes     ${usdOf(reserved.nanoUsd)} in ${reserved.reservations} reserves, ${usdOf(reserved.stuckNanoUsd)} of it by absent nodes`,
        `held for requests     ${usdOf(held.nanoUsd)} for ${held.holds} requests on the answering node`,
        ...uncollected.map(
          ({ reason, nanoUsd, accounts }) =>
            `uncollected           ${usdOf(nanoUsd)} of ${accounts} accounts in this period: ${reason}`,
        ),
      ]);
      if (wrong.length > 0) process.exitCode = 1;
    });

  const audit = program.command("audit").description("list, export and verify the audit trail");
  audit
    .command("list", { isDefault: true })
    .description("list changes to accounts, keys, users and the service, newest first")
    .option("--account <id>", "only changes of this account")
    .option("--limit <number>", "changes per page, 1 to 200", wholeNumber("--limit", 1, 200), 50)
    .option("--cursor <cursor>", "cursor of the next page, as printed by the previous call")
    .action(
      async ({ account: accountId, ...paging }: { account?: string; limit: number; cursor?: string }) => {
        const page = await client().audit({ accountId, ...paging });
        print(page, [...orNone(page.actions.flatMap(describe), "No changes."), ...nextPage(page)]);
      },
    );
  addActionsCommands(audit, { client, print });
}

function describeBalance({
  accountId,
  balanceNanoUsd,
  ledgerNanoUsd,
  reservedNanoUsd,
}: ReconciliationReport["mismatches"][number]): string {
  const amounts = `${accountId}  balance ${usdOf(balanceNanoUsd)}  ledger ${usdOf(ledgerNanoUsd)}  reserved ${usdOf(reservedNanoUsd)}`;
  const isOfDay = balanceNanoUsd === ledgerNanoUsd && !balanceNanoUsd.startsWith("-");
  return isOfDay ? `${amounts}  the costs of a day are not the sum of its charges` : amounts;
}

function describeUsage({
  accountId,
  interval,
  start,
  key,
  model,
}: ReconciliationReport["usageMismatches"][number]): string {
  const ofKey = key === null ? "" : `  key ${key}`;
  const ofModel = model === null ? "" : `  model ${model || "none"}`;
  return `${accountId ?? "the service"}  usage of the ${interval} ${start.toISOString()}${ofKey}${ofModel}`;
}

function describe(action: Action): string[] {
  const who = action.by === null ? "the service" : (action.userEmail ?? action.by.userId);
  const how = action.by?.managementToken == null ? "" : " with a management token";
  const from = action.by?.sourceIp == null ? "" : ` from ${action.by.sourceIp}`;
  const about = action.accountName === null ? "" : `  ${action.accountName} (${action.accountId})`;
  const lines = [`${action.at.toISOString()}  ${action.action}${about}`, `  by ${who}${how}${from}`];
  if (action.reason !== null) lines.push(`  reason  ${action.reason}`);
  if (action.before !== null) lines.push(`  before  ${JSON.stringify(action.before)}`);
  if (action.after !== null) lines.push(`  after   ${JSON.stringify(action.after)}`);
  return lines;
}
