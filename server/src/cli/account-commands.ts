import { type Command, Option } from "commander";
import { OstiaryError } from "../../../sdk/src/core/errors.ts";
import type {
  AccountChange,
  IpRules,
  LimitOverrides,
  ListedAccount,
  OperatedAccount,
  OstiaryOperator,
} from "../../../sdk/src/operator.ts";
import { ACCOUNT_STATES, PLANS } from "../accounts/account.ts";
import { columns, nanoUsdOf, usdOf } from "./output.ts";
import type { CommandParts } from "./run.ts";

const ACCOUNT = "an account's id, or the e-mail address of one of its users";
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** `accounts …`: find, make and change accounts; and what else operators do for their users. */
export function addAccountCommands(program: Command, { client, print }: CommandParts): void {
  const accounts = program.command("accounts").description("find, make and change accounts");
  const reason = () => new Option("--reason <text>", "recorded with the change");
  const plan = () => new Option("--plan <plan>").choices(PLANS);

  const find = async (which: string) => {
    const operator = client();
    return { operator, id: await idOf(operator, which) };
  };

  /** Prints a changed account and what its operator should know. */
  const printChange = ({ account, notices }: AccountChange) =>
    print({ account, notices }, [...columns(describe(account)), ...notices.map((notice) => `! ${notice}`)]);

  accounts
    .command("list")
    .description("newest first")
    .option("--search <text>", "the beginning of a name or of a user's e-mail address, or an id", "")
    .addOption(new Option("--state <state>").choices(ACCOUNT_STATES))
    .addOption(plan())
    .option("--limit <number>", "accounts a page, 1 to 200", "50")
    .option("--cursor <cursor>", "of the page before")
    .action(async ({ limit, ...filter }: ListOptions) => {
      const page = await client().accounts.list({ ...filter, limit: wholeNumber("--limit", limit) });
      const rows = page.accounts.map((account) => [
        account.id,
        account.state,
        account.plan,
        `${account.activeKeys} keys`,
        account.name,
        account.users.map(({ email }) => email).join(", "),
      ]);
      const more = page.nextCursor === null ? [] : [`more: --cursor ${page.nextCursor}`];
      print(page, [...columns(rows), ...more]);
    });

  accounts
    .command("get")
    .argument("<account>", ACCOUNT)
    .action(async (which: string) => {
      const { operator, id } = await find(which);
      const account = await operator.accounts.get(id);
      print(account, describeDetails(account));
    });

  accounts
    .command("create")
    .description("make an account with its first user, whose password is shown this once")
    .requiredOption("--email <address>")
    .requiredOption("--name <text>")
    .addOption(plan().default("free"))
    .action(async (options: { email: string; name: string; plan: OperatedAccount["plan"] }) => {
      const created = await client().accounts.create({
        email: options.email,
        accountName: options.name,
        plan: options.plan,
      });
      print(created, [
        ...describeDetails(created.account),
        `password   ${created.password}   (shown only now)`,
      ]);
    });

  accounts
    .command("suspend")
    .description("refuse every request of the account")
    .argument("<account>", ACCOUNT)
    .addOption(reason().makeOptionMandatory())
    .action(async (which: string, options: { reason: string }) => {
      const { operator, id } = await find(which);
      printChange(await operator.accounts.suspend(id, { reason: options.reason }));
    });

  accounts
    .command("reinstate")
    .argument("<account>", ACCOUNT)
    .addOption(reason())
    .action(async (which: string, options: Reason) => {
      const { operator, id } = await find(which);
      printChange(await operator.accounts.reinstate(id, options));
    });

  accounts
    .command("set-plan")
    .argument("<account>", ACCOUNT)
    .argument("<plan>", PLANS.join(", "))
    .addOption(reason())
    .action(async (which: string, next: string, options: Reason) => {
      const { operator, id } = await find(which);
      printChange(await operator.accounts.setPlan(id, { plan: planOf(next), ...options }));
    });

  accounts
    .command("set-ip-rules")
    .description(
      "sets the addresses and CIDR blocks that keys may be used from, in place of the present ones",
    )
    .argument("<account>", ACCOUNT)
    .argument("[networks...]", "such as 192.0.2.7 or 2001:db8::/32")
    .option("--none", "remove the rules: keys may be used from everywhere")
    .addOption(
      new Option(
        "--report-only",
        "let everything pass, and note in the audit log what would have been refused",
      ).conflicts("enforce"),
    )
    .option("--enforce", "refuse requests from elsewhere; without either option it stays as it is")
    .addOption(reason())
    .action(async (which: string, networks: string[], options: Reason & IpRuleOptions) => {
      requireNetworksOrNone(networks, options);
      const { operator, id } = await find(which);
      const rules = { ...modeOf(options), networks };
      printChange(await operator.accounts.setIpRules(id, { rules, reason: options.reason }));
    });

  accounts
    .command("try-ip-rules")
    .description("would a request from this address pass?")
    .argument("<account>", ACCOUNT)
    .argument("<address>")
    .option("--rules <networks...>", "try these instead of the account's own")
    .action(async (which: string, address: string, options: { rules?: string[] }) => {
      const { operator, id } = await find(which);
      const rules = options.rules === undefined ? undefined : { networks: options.rules };
      const answer = await operator.accounts.tryIpRules(id, { address, rules });
      print(answer, [answer.verdict]);
    });

  accounts
    .command("set-limits")
    .description(
      "limits that differ from the plan's; \"plan\" goes back to the plan's; what is not named stays",
    )
    .argument("<account>", ACCOUNT)
    .option("--requests-per-minute <number>")
    .option("--tokens-per-minute <number>")
    .option("--concurrent-requests <number>")
    .addOption(reason())
    .action(async (which: string, options: Reason & Partial<Record<keyof LimitOverrides, string>>) => {
      const { operator, id } = await find(which);
      const { limits: present } = await operator.accounts.get(id);
      const limit = (name: keyof LimitOverrides): number | null => {
        const text = options[name];
        if (text === undefined) return present[name];
        return text === "plan" ? null : wholeNumber(name, text);
      };
      const limits = {
        requestsPerMinute: limit("requestsPerMinute"),
        tokensPerMinute: limit("tokensPerMinute"),
        concurrentRequests: limit("concurrentRequests"),
      };
      printChange(await operator.accounts.setLimits(id, { limits, reason: options.reason }));
    });

  accounts
    .command("grant-credits")
    .description("a negative amount takes credits back: put -- before it")
    .argument("<account>", ACCOUNT)
    .argument("<usd>", "US dollars, such as 25 or 0.005")
    .addOption(reason().makeOptionMandatory())
    .action(async (which: string, usd: string, options: { reason: string }) => {
      const { operator, id } = await find(which);
      const amountNanoUsd = nanoUsdOf(usd);
      const granted = await operator.accounts.grantCredits(id, { amountNanoUsd, ...options });
      print(granted, [`balance   ${usdOf(granted.balanceNanoUsd)}`]);
    });

  program
    .command("reset-password")
    .description(
      "give a user who lost theirs a new password, shown this once, and end their sessions and management tokens",
    )
    .argument("<email>")
    .option("--keep-tokens", "leave their management tokens as they are")
    .action(async (email: string, { keepTokens = false }: { readonly keepTokens?: boolean }) => {
      const reset = await client().users.resetPassword({ email, keepTokens });
      print(reset, [
        `password         ${reset.password}   (shown only now)`,
        `tokens revoked   ${reset.revokedTokens}`,
      ]);
    });
}

interface ListOptions {
  readonly search: string;
  readonly state?: OperatedAccount["state"];
  readonly plan?: OperatedAccount["plan"];
  readonly limit: string;
  readonly cursor?: string;
}

interface Reason {
  readonly reason?: string;
}

async function idOf(operator: OstiaryOperator, which: string): Promise<string> {
  if (UUID.test(which)) return which;
  const email = which.toLowerCase();
  const { accounts } = await operator.accounts.list({ search: email, limit: 200 });
  const found = accounts.find(({ users }) => users.some((user) => user.email === email));
  if (found === undefined) {
    throw new OstiaryError(`No account has a user with the address ${which}. Search with "accounts list".`);
  }
  return found.id;
}

function planOf(text: string): OperatedAccount["plan"] {
  const plan = PLANS.find((name) => name === text);
  if (plan === undefined) throw new OstiaryError(`"${text}" is not a plan. Plans are ${PLANS.join(", ")}.`);
  return plan;
}

interface IpRuleOptions {
  readonly none?: boolean;
  readonly reportOnly?: boolean;
  readonly enforce?: boolean;
}

/** Networks that were left out by mistake must not open an account to everywhere. */
function requireNetworksOrNone(networks: readonly string[], { none }: IpRuleOptions): void {
  if (networks.length === 0 && none !== true) {
    throw new OstiaryError("Name the networks that keys may be used from, or remove the rules with --none.");
  }
  if (networks.length > 0 && none === true) {
    throw new OstiaryError("Give either networks or --none, not both.");
  }
}

/** Empty: as it is. */
function modeOf({ reportOnly, enforce }: IpRuleOptions): Partial<Pick<IpRules, "mode">> {
  if (reportOnly === true) return { mode: "report" };
  return enforce === true ? { mode: "enforce" } : {};
}

function wholeNumber(name: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new OstiaryError(`${name}: "${text}" is not a whole number.`);
  return Number(text);
}

function describe(account: OperatedAccount): string[][] {
  const { suspension, ipRules, limits } = account;
  const state =
    suspension === null
      ? account.state
      : `suspended since ${suspension.at.toISOString()}: ${suspension.reason}`;
  const rules =
    ipRules.networks.length === 0
      ? "none"
      : `${ipRules.networks.join(", ")}${ipRules.mode === "report" ? " (report only)" : ""}`;
  const limit = (value: number | null) => (value === null ? "as the plan" : String(value));
  return [
    ["account", account.id],
    ["name", account.name],
    ["plan", account.plan],
    ["state", state],
    ["IP rules", rules],
    ["requests a minute", limit(limits.requestsPerMinute)],
    ["tokens a minute", limit(limits.tokensPerMinute)],
    ["requests at once", limit(limits.concurrentRequests)],
    ["created", account.createdAt.toISOString()],
  ];
}

function describeDetails(account: ListedAccount): string[] {
  return columns([
    ...describe(account),
    ["users", account.users.map(({ email }) => email).join(", ")],
    ["keys", `${account.activeKeys} active`],
    ["balance", usdOf(account.balanceNanoUsd)],
  ]);
}
