import { Argument, type Command, Option } from "commander";
import { OstiaryError } from "../../../sdk/src/core/errors.ts";
import type {
  AccountChange,
  IpRules,
  LimitOverrides,
  ListedAccount,
  OperatedAccount,
  OstiaryOperator,
} from "../../../sdk/src/operator.ts";
import { ACCOUNT_STATES, PLANS } from "../contract/account.ts";
import { isUuid } from "../contract/ids.ts";
import { columns, nanoUsdOf, nextPage, orNone, usdOf, wholeNumber } from "./output.ts";
import type { CommandParts } from "./run.ts";

const ACCOUNT = "account id, or the e-mail address of one of its users";

/** `accounts …` and `reset-password`. */
export function addAccountCommands(program: Command, { client, print }: CommandParts): void {
  const accounts = program.command("accounts").description("find, create and change accounts");
  const parts: AccountCommandParts = {
    accounts,
    client,
    print,
    ofAccount: (name, description) =>
      accounts.command(name).description(description).argument("<account>", ACCOUNT),
    find: async (which) => {
      const operator = client();
      return { operator, id: await idOf(operator, which) };
    },
    printChange: ({ account, notices }) =>
      print({ account, notices }, [...columns(describe(account)), ...notices.map((notice) => `! ${notice}`)]),
  };
  addFinding(parts);
  addCreating(parts);
  addStates(parts);
  addIpRules(parts);
  addLimits(parts);
  addCredit(parts);
  addPasswordReset(program, parts);
}

interface AccountCommandParts extends Pick<CommandParts, "client" | "print"> {
  /** The command that the others are below. */
  readonly accounts: Command;
  /** Adds a command about one account, which is its first argument. */
  readonly ofAccount: (name: string, description: string) => Command;
  /** Finds the account that a first argument names. */
  readonly find: (which: string) => Promise<{ readonly operator: OstiaryOperator; readonly id: string }>;
  /** Prints a changed account and what its operator should know. */
  readonly printChange: (change: AccountChange) => void;
}

const reason = () => new Option("--reason <text>", "recorded in the audit trail");
const plan = () => new Option("--plan <plan>").choices(PLANS);

function addFinding({ accounts, ofAccount, client, find, print }: AccountCommandParts): void {
  accounts
    .command("list")
    .description("list accounts, newest first or in another order")
    .option(
      "--search <text>",
      "the beginning of a name or of a user's e-mail address, an id, or a key's last four characters",
      "",
    )
    .addOption(new Option("--state <state>").choices(ACCOUNT_STATES))
    .addOption(plan())
    .addOption(
      new Option("--order <order>", "highest first; cost and requests are those of the last 30 days")
        .choices(ORDERS)
        .default("created"),
    )
    .option("--ascending", "begin with the oldest or the lowest")
    .option("--limit <number>", "accounts per page, 1 to 200", wholeNumber("--limit", 1, 200), 50)
    .option("--cursor <cursor>", "cursor of the next page, as printed by the previous call")
    .action(async (options: ListOptions) => {
      const page = await client().accounts.list(options);
      const rows = page.accounts.map((account) => [
        account.id,
        account.state,
        account.plan,
        ...sortedFigures(account, options.order),
        `${account.activeKeys} ${account.activeKeys === 1 ? "key" : "keys"}`,
        account.name,
        account.users.map(({ email }) => email).join(", "),
      ]);
      print(page, [...orNone(columns(rows), "No accounts."), ...nextPage(page)]);
    });

  ofAccount("get", "show an account").action(async (which: string) => {
    const { operator, id } = await find(which);
    const account = await operator.accounts.get(id);
    print(account, describeDetails(account));
  });
}

function addCreating({ accounts, client, print }: AccountCommandParts): void {
  accounts
    .command("create")
    .description("create an account and its first user; prints the user's password, which is not shown again")
    .requiredOption("--email <address>", "e-mail address of the user")
    .requiredOption("--name <text>", "name of the account")
    .addOption(plan().default("free"))
    .action(async (options: { email: string; name: string; plan: OperatedAccount["plan"] }) => {
      const { name: accountName, ...rest } = options;
      const created = await client().accounts.create({ accountName, ...rest });
      print(created, [
        ...describeDetails(created.account),
        `password   ${created.password}   (not shown again)`,
      ]);
    });
}

/** Adds the commands that change the state or the plan of an account. */
function addStates({ ofAccount, find, printChange }: AccountCommandParts): void {
  ofAccount("suspend", "refuse all keys and management tokens of an account")
    .addOption(reason().makeOptionMandatory())
    .action(async (which: string, options: { reason: string }) => {
      const { operator, id } = await find(which);
      printChange(await operator.accounts.suspend(id, options));
    });

  ofAccount("reinstate", "end the suspension of an account")
    .addOption(reason())
    .action(async (which: string, options: Reason) => {
      const { operator, id } = await find(which);
      printChange(await operator.accounts.reinstate(id, options));
    });

  ofAccount("set-plan", "change the plan of an account")
    .addArgument(new Argument("<plan>").choices(PLANS))
    .addOption(reason())
    .action(async (which: string, next: OperatedAccount["plan"], options: Reason) => {
      const { operator, id } = await find(which);
      printChange(await operator.accounts.setPlan(id, { plan: next, ...options }));
    });
}

function addIpRules({ ofAccount, find, print, printChange }: AccountCommandParts): void {
  ofAccount("set-ip-rules", "replace the addresses and CIDR blocks from which keys may be used")
    .argument("[networks...]", "such as 192.0.2.7 or 2001:db8::/32")
    .option("--none", "remove the rules, so that keys may be used from any address")
    .addOption(
      new Option(
        "--report-only",
        "let all requests pass and mark in the audit log those that the rules would refuse",
      ).conflicts("enforce"),
    )
    .option(
      "--enforce",
      "refuse requests from other addresses; without either option the mode stays as it is",
    )
    .addOption(reason())
    .action(async (which: string, networks: string[], options: Reason & IpRuleOptions) => {
      requireNetworksOrNone(networks, options);
      const { operator, id } = await find(which);
      const rules = { ...modeOf(options), networks };
      printChange(await operator.accounts.setIpRules(id, { rules, reason: options.reason }));
    });

  ofAccount("try-ip-rules", "test whether the rules let an address pass")
    .argument("<address>", "IP address of a client")
    .option("--rules <networks...>", "test these rules instead of the account's")
    .action(async (which: string, address: string, options: { rules?: string[] }) => {
      const { operator, id } = await find(which);
      const rules = options.rules === undefined ? undefined : { networks: options.rules };
      const answer = await operator.accounts.tryIpRules(id, { address, rules });
      print(answer, [answer.verdict]);
    });
}

function addLimits({ ofAccount, find, printChange }: AccountCommandParts): void {
  ofAccount(
    "set-limits",
    "set limits that differ from the plan's; \"plan\" restores the plan's; omitted limits stay",
  )
    .option(
      "--requests-per-minute <number>",
      'requests in 60 seconds, or "plan"',
      limitOf("--requests-per-minute"),
    )
    .option("--tokens-per-minute <number>", 'tokens in 60 seconds, or "plan"', limitOf("--tokens-per-minute"))
    .option(
      "--concurrent-requests <number>",
      'requests that are answered at the same time, or "plan"',
      limitOf("--concurrent-requests"),
    )
    .addOption(reason())
    .action(async (which: string, { reason: given, ...options }: Reason & LimitOptions) => {
      const changes = Object.entries(options).map(([name, limit]) => [name, limit === "plan" ? null : limit]);
      if (changes.length === 0)
        throw new OstiaryError("Give at least one limit, such as --requests-per-minute.");
      const { operator, id } = await find(which);
      const limits: Partial<LimitOverrides> = Object.fromEntries(changes);
      printChange(await operator.accounts.setLimits(id, { limits, reason: given }));
    });
}

function addCredit({ ofAccount, find, print }: AccountCommandParts): void {
  ofAccount("grant-credits", "grant credit; a negative amount, after --, takes credit back")
    .argument("<usd>", "US dollars, such as 25 or 0.005")
    .addOption(reason().makeOptionMandatory())
    .option(
      "--idempotency-key <key>",
      "8 to 255 characters that name this grant; repeated with them, the command books nothing and prints the first balance",
    )
    .action(async (which: string, usd: string, options: { reason: string; idempotencyKey?: string }) => {
      const { operator, id } = await find(which);
      const amountNanoUsd = nanoUsdOf(usd);
      const granted = await operator.accounts.grantCredits(id, { amountNanoUsd, ...options });
      print(granted, [`balance   ${usdOf(granted.balanceNanoUsd)}`]);
    });
}

function addPasswordReset(program: Command, { client, print }: AccountCommandParts): void {
  program
    .command("reset-password")
    .description("set a new random password, end the user's sessions and revoke their management tokens")
    .argument("<email>", "e-mail address of the user")
    .option("--keep-tokens", "do not revoke the user's management tokens")
    .action(async (email: string, { keepTokens = false }: { readonly keepTokens?: boolean }) => {
      const reset = await client().users.resetPassword({ email, revokeTokens: !keepTokens });
      print(reset, [
        `password         ${reset.password}   (not shown again)`,
        `tokens revoked   ${reset.revokedTokens}`,
      ]);
    });
}

const ORDERS = ["created", "balance", "cost", "requests"] as const;
type Order = (typeof ORDERS)[number];

/** The figure that a list is sorted by, as a column of it. */
function sortedFigures(account: ListedAccount, order: Order): string[] {
  switch (order) {
    case "created":
      return [];
    case "balance":
      return [usdOf(account.balanceNanoUsd)];
    case "cost":
      return [usdOf(account.recentCostNanoUsd)];
    case "requests":
      return [`${account.recentRequests} ${account.recentRequests === 1 ? "request" : "requests"}`];
  }
}

interface ListOptions {
  readonly search: string;
  readonly state?: OperatedAccount["state"];
  readonly plan?: OperatedAccount["plan"];
  readonly order: Order;
  readonly ascending?: boolean;
  readonly limit: number;
  readonly cursor?: string;
}

type LimitOptions = { readonly [Name in keyof LimitOverrides]?: number | "plan" };

interface Reason {
  readonly reason?: string;
}

/** There is no account with an address. Like the service's refusal of an unknown id, it is no invalid command. */
export class NoSuchAccount extends OstiaryError {}

async function idOf(operator: OstiaryOperator, which: string): Promise<string> {
  if (isUuid(which)) return which;
  const email = which.toLowerCase();
  const { accounts } = await operator.accounts.list({ search: email, limit: 200 });
  const found = accounts.find(({ users }) => users.some((user) => user.email === email));
  if (found === undefined) {
    throw new NoSuchAccount(
      `No account has a user with the address ${which}. Find the account with "accounts list".`,
    );
  }
  return found.id;
}

interface IpRuleOptions {
  readonly none?: boolean;
  readonly reportOnly?: boolean;
  readonly enforce?: boolean;
}

/** An omitted argument must not remove the rules. */
function requireNetworksOrNone(networks: readonly string[], { none }: IpRuleOptions): void {
  if (networks.length === 0 && none !== true) {
    throw new OstiaryError("List the networks from which keys may be used, or remove the rules with --none.");
  }
  if (networks.length > 0 && none === true) {
    throw new OstiaryError("Give either networks or --none, not both.");
  }
}

/** Empty: keeps the current mode. */
function modeOf({ reportOnly, enforce }: IpRuleOptions): Partial<Pick<IpRules, "mode">> {
  if (reportOnly === true) return { mode: "report" };
  return enforce === true ? { mode: "enforce" } : {};
}

/** The parser of a limit; `plan` stands for that of the plan. */
function limitOf(name: string): (text: string) => number | "plan" {
  const parse = wholeNumber(name, 1, 1_000_000_000);
  return (text) => (text === "plan" ? text : parse(text));
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
  const limit = (value: number | null) => (value === null ? "from the plan" : String(value));
  return [
    ["account", account.id],
    ["name", account.name],
    ["plan", account.plan],
    ["state", state],
    ["IP rules", rules],
    ["requests per minute", limit(limits.requestsPerMinute)],
    ["tokens per minute", limit(limits.tokensPerMinute)],
    ["concurrent requests", limit(limits.concurrentRequests)],
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
