/** Shell commands of documents that the tests do not run, with the reason for each. */
export const NOT_RUN: readonly { readonly command: RegExp; readonly reason: string }[] = [
  {
    command: /^npm ci( && npm (start|test))?$/,
    reason: "Installs packages. .ci/run and test/installation do it.",
  },
  {
    command: /^(npm (install|ci|prune) |npm ci && npm prune ).*(ostiary-server-0\.1\.0\.tgz|omit=dev)$/,
    reason: "Installs packages. test/installation does it.",
  },
  {
    command: /^node scripts\/pack-server\.mjs$/,
    reason: "Leaves a file in the checkout. test/installation/npm-package.test.ts does it.",
  },
  {
    command:
      /^(npx |deno run -A (?:\S+ )+npm:|node (?:\S+ )+\S+\/)ostiary-server(\.js)? (start|migrate|backup-check)$/,
    reason: "Needs an installation and its database. test/installation/npm-package.test.ts does it.",
  },
  {
    command: /^npm install http:\/\/127\.0\.0\.1:8080\/sdk\/ostiary\.tgz$/,
    reason: "The package is already installed. test/installation/sdk-from-service.test.ts does it.",
  },
  {
    command: /^npm start$/,
    reason: "Runs until stopped. test/integration/newcomer.test.ts starts the service.",
  },
  {
    command: /^npm run (dev|check|bench|check-package|procedures|reference)( |$)/,
    reason: "Long-running commands for contributors; .ci/run runs the checks.",
  },
  { command: /^npm test$/, reason: "Would run this test." },
  { command: /^bash \.ci\/run$/, reason: "Would run this test." },
  {
    command: /^cp -a data data-backup$/,
    reason: "Needs the data folder of a stopped service. test/integration/survival.test.ts starts on one.",
  },
  {
    command: /^PGPASSWORD="\$\(cat data\/postgres\.password\)" pg_dump /,
    reason:
      "Needs a pg_dump of the bundled server's version. test/embedded starts the server in these folders.",
  },
  {
    command: /^psql "\$DATABASE_URL" /,
    reason: "Needs a server of one's own. test/integration/responses-key.test.ts reads the same column.",
  },
  { command: /^pg_(dump|restore) /, reason: "test/endurance/restore.test.ts does it." },
  {
    command: /^(node scripts\/image\.mjs|docker run) /,
    reason: "Needs a program that builds or runs images. test/deployment/image.test.ts does it.",
  },
  {
    command: /^(cd deploy\/compose|(OSTIARY_\w+=\S+ )*docker compose .*)$/,
    reason: "Needs Compose. test/deployment/compose.test.ts checks the project and starts its parts.",
  },
  {
    command: /^(kubectl|helm) /,
    reason: "Needs a cluster. test/deployment/chart.test.ts renders the chart and checks its objects.",
  },
  {
    command: /^(dpkg --add-architecture|apt-get install qemu|OSTIARY_TEST_PLATFORM=)/,
    reason: "Changes the system, and takes minutes under emulation.",
  },
  {
    command:
      /^(systemctl |groupadd |ch(grp|mod) .*\/etc\/ostiary\/|cp deploy\/systemd|install -m 600 |npm install --prefix \/opt)/,
    reason: "Changes the system. test/deployment/systemd.test.ts checks the unit.",
  },
];

/** Commands that the service may refuse (exit code 1) because of their made-up values. They must still be valid commands. */
export const MAY_BE_REFUSED: readonly { readonly command: RegExp; readonly reason: string }[] = [
  { command: /nodes release /, reason: "The only node runs." },
  { command: /journal replay$/, reason: "The test has only an unreadable line." },
  { command: /journal replay .* --with '\[…\]'$/, reason: "The text is a placeholder." },
];
