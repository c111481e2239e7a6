import { readFileSync } from "node:fs";
import { basename, relative } from "node:path";
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin, type ViteDevServer } from "vite";
import { thirdPartyNotices } from "../scripts/third-party-notices.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** The service that the pages speak to during development. It gets the host of the pages, or it would take them for those of another site. */
const SERVICE = {
  target: process.env.OSTIARY_DEV_SERVICE ?? "http://127.0.0.1:8080",
  changeOrigin: false,
};

/** The parts of the pages before sign-in, which all other pages contain, too. Not the entry of the former, which would run in the dashboard. */
const COMMON_PARTS =
  /\/src\/(?:sign-in\/|icons\/(?:icon|notices)\.|api\/(?:connection|errors)\.|code-loading\.|components\/(?:Button|EmptyArt|Field|FieldNote|Mark|Notice|PasswordField|Skeleton|Spinner|Title|Tooltip|Welcome|classes|lazy-code|missing-code|form|service-name|text|theme|storage|use-field-error)\.)|vite\/preload-helper/;

/** What every page has besides, in one file. */
const SHELL_PARTS =
  /\/src\/(?:api\/|icons\/|load\.|components\/(?:Loaded|Code|CopyButton|PageHead|Segmented|DataTable|Select|format|special-prices|chart\/ChartCursor)\.)|\/sdk\/src\/contract\/(?:procedure-data|error-codes)\./;

/** Serves the pages before sign-in during development, as the service does. */
function serveSignIn({ middlewares }: ViteDevServer) {
  middlewares.use((request, _, next) => {
    if (/^\/sign-(?:in|up)(?:\?|$)/.test(request.url ?? "")) request.url = "/sign-in.html";
    next();
  });
}

/** Asks for the font with the page, before the style sheet names it, so that text is not drawn twice. */
const preloadedFont: Plugin = {
  name: "preloaded-font",
  transformIndexHtml: {
    order: "post",
    handler: (_html, { bundle = {} }) =>
      Object.keys(bundle)
        .filter((name) => /\/inter-(?!latin).*\.woff2$/.test(name))
        .map((name) => ({
          tag: "link",
          attrs: { rel: "preload", href: `/${name}`, as: "font", type: "font/woff2", crossorigin: "" },
          injectTo: "head" as const,
        })),
  },
};

/** Sets the theme that `components/theme.ts` has stored. */
const EARLY_THEME = `try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {}
`;

/** Sets the chosen theme before the page is drawn. Its module is run later, so that a dark page would be light at first. */
const earlyTheme: Plugin = {
  name: "early-theme",
  apply: "build",
  buildStart() {
    this.emitFile({ type: "asset", name: "early-theme.js", source: EARLY_THEME });
  },
  transformIndexHtml: {
    order: "post",
    handler: (_html, { bundle = {} }) =>
      Object.keys(bundle)
        .filter((name) => /\/early-theme-.*\.js$/.test(name))
        .map((name) => ({ tag: "script", attrs: { src: `/${name}` }, injectTo: "head-prepend" as const })),
  },
};

/** Adds the licenses of the packages that the pages contain, and that of the icons. */
const notices: Plugin = {
  name: "notices",
  apply: "build",
  generateBundle() {
    const inputs = [...this.getModuleIds()].map((id) => relative(ROOT, id.split("?", 1)[0] ?? id));
    const icons = readFileSync(new URL("src/icons/LICENSE", import.meta.url), "utf8");
    const source = `${thirdPartyNotices("The dashboard", inputs)}\nIcons of Lucide\n\n${icons}`;
    this.emitFile({ type: "asset", fileName: "THIRD-PARTY-NOTICES.txt", source });
  },
};

export default defineConfig({
  plugins: [react(), { name: "sign-in", configureServer: serveSignIn }, preloadedFont, earlyTheme, notices],
  css: {
    modules: {
      // Readable, and named after the file: a module that adjusts another component's part writes `:global(.Button_button)`.
      generateScopedName: (name, file) => `${basename(file).split(".", 1)[0]}_${name}`,
    },
  },
  build: {
    // A data: URL would need an exception in the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The pages before sign-in are a document of their own.
    rolldownOptions: {
      input: ["index.html", "sign-in.html"],
      output: {
        codeSplitting: {
          includeDependenciesRecursively: false,
          // What most pages share is one file each: the heads of many small answers weigh more than they do.
          groups: [
            { name: "common", test: /node_modules\/(?:react|react-dom|scheduler)\// },
            { name: "common", test: COMMON_PARTS },
            {
              name: "libraries",
              test: /node_modules\/(?:@tanstack\/(?!.*virtual)|@trpc|use-sync-external-store)/,
            },
            { name: "shell", test: SHELL_PARTS },
            // Charts and programs to copy are on some pages only.
            { name: "charts", test: /node_modules\/uplot|\/src\/components\/(?:Chart|chart\/)/ },
            {
              name: "snippets",
              test: /\/src\/components\/(?:snippets|format-snippets|format-messages|Snippets)\./,
            },
            // Dialogs, menus, tooltips and lists of suggestions, which pages load once they are needed.
            { name: "anchored", test: /node_modules\/@floating-ui/ },
            { name: "base", test: /node_modules\/@base-ui/, minShareCount: 3 },
            { name: "dialogs", test: /\/src\/components\/(?:Dialog|FormDialog|ShownOnce)\.tsx/ },
            { name: "parts", test: /\/src\/components\//, minShareCount: 4 },
          ],
        },
      },
    },
    emptyOutDir: true,
  },
  server: {
    proxy: { "/trpc": SERVICE, "/v1": SERVICE, "/dashboard": SERVICE, "/docs": SERVICE, "/sdk": SERVICE },
  },
});
