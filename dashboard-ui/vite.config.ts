import { basename } from "node:path";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** The service that the pages speak to during development. */
const SERVICE = process.env.OSTIARY_DEV_SERVICE ?? "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [react()],
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
    emptyOutDir: true,
  },
  server: {
    proxy: { "/trpc": SERVICE, "/v1": SERVICE, "/dashboard": SERVICE, "/docs": SERVICE, "/sdk": SERVICE },
  },
});
